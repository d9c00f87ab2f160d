import Byway
import Foundation
import Logging
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import SSHTransport

@Suite("Trust in host keys by known_hosts")
struct TrustVerifierTests {
  private let folder: TemporaryFolder
  private let log = LogRecord()

  init() throws { folder = try TemporaryFolder() }

  private func settings(
    _ checking: HostSettings.KeyChecking = .strict, host: String = "host.test", port: Int = 22,
    files: [String]? = nil
  ) -> HostSettings {
    var settings = HostSettings(alias: host, host: host, user: "me")
    settings.port = port
    settings.keyChecking = checking
    settings.userKnownHosts = files ?? [folder["known_hosts"]]
    settings.globalKnownHosts = [folder["global"]]
    return settings
  }

  private func refusal(_ settings: HostSettings, _ key: PublicKey) async -> BywayError? {
    await bywayError { try await KnownHostsVerifier(settings, logger: log.logger).verify(key.blob) }
  }

  private func mode(_ path: String) throws -> Int {
    try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
  }

  private func content(_ name: String) throws -> String {
    try String(contentsOfFile: folder[name], encoding: .utf8)
  }

  @Test("an unknown host is refused with its fingerprint and how to add it")
  func unknown() async throws {
    let key = try TrustKnownHostsTests.key()
    let error = await refusal(settings(port: 2222), key)
    #expect(error?.code == .linkUnavailable)
    #expect(error?.processing == BywayError.Processing.none)
    let message = try #require(error?.message)
    #expect(message.contains("[host.test]:2222 is not a known host"))
    #expect(message.contains("ED25519 \(key.fingerprint)"))
    #expect(message.contains("ssh-keyscan -p 2222 host.test >> \(folder["known_hosts"])"))
    #expect(message.contains("host-key-checking=accept-new"))
  }

  @Test("a changed host key is refused with both fingerprints and the place of the old one")
  func changed() async throws {
    let (old, new) = try (TrustKnownHostsTests.key("ssh-ed25519", 1), TrustKnownHostsTests.key("ssh-ed25519", 2))
    try folder.write("# mine\nhost.test \(TrustKnownHostsTests.text(old))\n", to: "known_hosts")
    for checking in [HostSettings.KeyChecking.strict, .acceptNew] {
      let message = try #require(await refusal(settings(checking), new)?.message)
      #expect(message.contains("has changed"))
      #expect(message.contains(old.fingerprint))
      #expect(message.contains(new.fingerprint))
      #expect(message.contains("\(folder["known_hosts"]):2"))
      #expect(message.contains("ssh-keygen -R 'host.test' -f \(folder["known_hosts"])"))
    }
  }

  @Test("with accept-new, a key of another type than the one listed is not a new host")
  func otherType() async throws {
    let old = try TrustKnownHostsTests.key("ssh-ed25519", 1)
    let line = "host.test \(TrustKnownHostsTests.text(old))\n"
    try folder.write(line, to: "known_hosts")
    let error = try await refusal(settings(.acceptNew), TrustKnownHostsTests.key("ecdsa-sha2-nistp256", 2))
    #expect(error?.message.contains("a different type") == true)
    #expect(try content("known_hosts") == line)
  }

  @Test("a revoked key and a lone certificate authority are refused with the reason, also from the global file")
  func markers() async throws {
    let key = try TrustKnownHostsTests.key()
    try folder.write("host.test \(TrustKnownHostsTests.text(key))\n", to: "known_hosts")
    try folder.write("@revoked * \(TrustKnownHostsTests.text(key))\n", to: "global")
    let revoked = await refusal(settings(.acceptNew), key)
    #expect(revoked?.message.contains("is revoked by \(folder["global"]):1") == true)
    try folder.write("@cert-authority * \(TrustKnownHostsTests.text(key))\n", to: "global")
    let authority = await refusal(settings(.acceptNew, host: "other.test"), key)
    #expect(authority?.message.contains("@cert-authority") == true)
  }

  @Test("a listed host is trusted, also from the second file, and asked for the listed type of key")
  func listed() async throws {
    let key = try TrustKnownHostsTests.key("ecdsa-sha2-nistp256")
    try folder.write("host.test \(TrustKnownHostsTests.text(key))\n", to: "global")
    let verifier = try await KnownHostsVerifier(settings(), logger: log.logger)
    #expect(verifier.preferredAlgorithms == ["ecdsa-sha2-nistp256"])
    try await verifier.verify(key.blob)
  }

  @Test("with accept-new, a new host is added to a private file and logged")
  func acceptNew() async throws {
    let key = try TrustKnownHostsTests.key()
    let file = folder["ssh/known_hosts"]
    let settings = settings(.acceptNew, port: 2222, files: [file])
    try await KnownHostsVerifier(settings, logger: log.logger).verify(key.blob)
    #expect(try content("ssh/known_hosts") == "[host.test]:2222 \(TrustKnownHostsTests.text(key))\n")
    #expect(try mode(file) == 0o600)
    #expect(try mode(folder["ssh"]) == 0o700)
    #expect(log.all.contains { $0.hasPrefix("notice") && $0.contains(key.fingerprint) && $0.contains(file) })
    var strict = settings
    strict.keyChecking = .strict
    try await KnownHostsVerifier(strict, logger: log.logger).verify(key.blob)
  }

  @Test("if known_hosts lacks its last newline, adding a host keeps the last line intact")
  func noNewline() async throws {
    let key = try TrustKnownHostsTests.key()
    let first = "first.test \(TrustKnownHostsTests.text(key))"
    try folder.write(first, to: "known_hosts")
    try await KnownHostsVerifier(settings(.acceptNew), logger: log.logger).verify(key.blob)
    #expect(try content("known_hosts") == "\(first)\nhost.test \(TrustKnownHostsTests.text(key))\n")
  }

  @Test("ssh-keygen finds a host that was added with a hashed name")
  func hashed() async throws {
    let path = try await KeyMaker.make("k", in: folder)
    var settings = settings(.acceptNew, port: 2222)
    settings.hashesKnownHosts = true
    try await KnownHostsVerifier(settings, logger: log.logger).verify(KeyMaker.publicKey(path).blob)
    #expect(try !content("known_hosts").contains("host.test"))
    try await KeyMaker.keygen(["-F", "[host.test]:2222", "-f", folder["known_hosts"]])
  }

  @Test("if two connections to a new host show different keys, the second one is refused")
  func race() async throws {
    let verifiers = (
      try await KnownHostsVerifier(settings(.acceptNew), logger: log.logger),
      try await KnownHostsVerifier(settings(.acceptNew), logger: log.logger)
    )
    try await verifiers.0.verify(TrustKnownHostsTests.key("ssh-ed25519", 1).blob)
    try await verifiers.1.verify(TrustKnownHostsTests.key("ssh-ed25519", 1).blob)
    let error = await bywayError { try await verifiers.1.verify(TrustKnownHostsTests.key("ssh-ed25519", 2).blob) }
    #expect(error?.message.contains("has changed") == true)
    #expect(try content("known_hosts").split(separator: "\n").count == 1)
  }

  @Test("if many connections find a new host at the same time, one adds it")
  func concurrent() async throws {
    let verifier = try await KnownHostsVerifier(settings(.acceptNew), logger: log.logger)
    let accepted = await withTaskGroup { group in
      for value in 0..<20 as Range<UInt8> {
        group.addTask { (try? await verifier.verify(TrustKnownHostsTests.key("ssh-ed25519", value).blob)) != nil }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(accepted == 1)
    #expect(try content("known_hosts").split(separator: "\n").count == 1)
  }

  @Test("a new host that cannot be added is refused")
  func notWritable() async throws {
    let error = try await refusal(settings(.acceptNew, files: [folder["a/b/known_hosts"]]), TrustKnownHostsTests.key())
    #expect(error?.message.contains("cannot be written") == true)
    let none = try await refusal(settings(.acceptNew, files: []), TrustKnownHostsTests.key())
    #expect(none?.message.contains("known_hosts=FILE") == true)
  }

  @Test(
    "a host name that would be a pattern is not added",
    arguments: ["*", "h?", "a,b", "!h", "|1|x", "@revoked", "# h"])
  func patterns(host: String) async throws {
    let error = try await refusal(settings(.acceptNew, host: host), TrustKnownHostsTests.key())
    #expect(error?.message.contains("it is not a valid host name") == true)
    #expect(!FileManager.default.fileExists(atPath: folder["known_hosts"]))
  }

  @Test("with /dev/null as known_hosts, a new host is accepted and not stored")
  func devNull() async throws {
    let settings = settings(.acceptNew, files: ["/dev/null"])
    try await KnownHostsVerifier(settings, logger: log.logger).verify(TrustKnownHostsTests.key().blob)
  }

  @Test("an existing known_hosts file that cannot be read is an error, as it may contain a revocation")
  func unreadable() async throws {
    let error = try await refusal(settings(files: [folder.path]), TrustKnownHostsTests.key())
    #expect(error?.message.contains("Cannot read the known hosts in \(folder.path)") == true)
  }

  @Test("with an alias, the alias is looked up in place of the host, without a port")
  func alias() async throws {
    let key = try TrustKnownHostsTests.key()
    try folder.write("machine7 \(TrustKnownHostsTests.text(key))\n", to: "known_hosts")
    var settings = settings(port: 2222)
    settings.hostKeyAlias = "machine7"
    try await KnownHostsVerifier(settings, logger: log.logger).verify(key.blob)
  }

  @Test("skipped lines of known_hosts are logged at debug level")
  func badLines() async throws {
    try folder.write("garbage\n", to: "known_hosts")
    _ = try await KnownHostsVerifier(settings(), logger: log.logger)
    #expect(log.all.contains { $0.hasPrefix("debug") && $0.contains("\(folder["known_hosts"]):1") })
  }

  @Test(
    "an invalid host key counts as a violation by the peer",
    arguments: [[], [0, 0, 0, 9, 1], [0, 0, 0, 0]] as [[UInt8]])
  func garbage(bytes: [UInt8]) async throws {
    let error = await bywayError { try await KnownHostsVerifier(settings(), logger: log.logger).verify(bytes) }
    #expect(error?.code == .protocolViolation)
  }
}
