import Byway
import BywayPrimitives
import Foundation
import NIOCore
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import SSHTransport

/// Uses OpenSSH's server, and keys made by ssh-keygen.
@Suite("Logins with an encrypted key file", .timeLimit(.minutes(2)))
struct LockedKeyTests {
  private static let passphrase = "pässword 1"

  /// A variable of this process, for an address to name.
  private static func variable(_ value: String) -> String {
    let name = "BYWAY_TEST_\(UInt32.random(in: 0 ... .max))"
    setenv(name, value, 1)
    return name
  }

  private func address(_ rig: SSHRig, _ key: String, _ rest: String) throws -> LinkAddress {
    try LinkAddress(
      "\(rig.server.base)?command=echo in&identity=\(key)&known_hosts=\(rig.server.folder["known_hosts"])&config=none"
        + rest)
  }

  /// Creates a key that the server accepts.
  private func makeKey(_ arguments: [String], for rig: SSHRig) async throws -> String {
    let path = try await KeyMaker.make("k", arguments, passphrase: Self.passphrase, in: rig.server.folder)
    try rig.server.folder.write(KeyMaker.publicLine(path), to: "authorized_keys")
    return path
  }

  @Test(
    "a login succeeds with every cipher of key files that libssh2 reads, and every key type except RSA",
    arguments: [
      ["-t", "ed25519"], ["-t", "ecdsa", "-b", "256"], ["-t", "ecdsa", "-b", "384"], ["-t", "ecdsa", "-b", "521"],
      ["-Z", "aes256-cbc"], ["-Z", "aes192-ctr"], ["-Z", "aes192-cbc"], ["-Z", "aes128-ctr"], ["-Z", "aes128-cbc"],
      ["-Z", "3des-cbc"],
    ])
  func kinds(arguments: [String]) async throws {
    try await SSHRig.with { rig in
      let key = try await makeKey(arguments.contains("-t") ? arguments : arguments + ["-t", "ed25519"], for: rig)
      let name = Self.variable(Self.passphrase)
      defer { unsetenv(name) }
      let channel = try await rig.transport.connect(
        to: address(rig, key, "&passphrase=env:\(name)"), context: .test(limit: .seconds(60)))
      #expect(try await channel.collected().text == "in\n")
    }
  }

  @Test("if a passphrase in a variable is wrong, the error names the variable, and not the server")
  func wrong() async throws {
    try await SSHRig.with { rig in
      let key = try await makeKey(["-t", "ed25519"], for: rig)
      let name = Self.variable("pässword 2")
      defer { unsetenv(name) }
      let address = try address(rig, key, "&passphrase=env:\(name)")
      let error = await bywayError {
        _ = try await rig.transport.connect(to: address, context: .test(limit: .seconds(60)))
      }
      #expect(error?.message.hasPrefix("\(key): the passphrase in the environment variable \(name) is wrong.") == true)
      #expect(error?.message.contains("did not let") == false)
    }
  }

  @Test("a key that the server does not know is not unlocked, and needs no passphrase")
  func unknown() async throws {
    try await SSHRig.with { rig in
      let key = try await KeyMaker.make("k", passphrase: Self.passphrase, in: rig.server.folder)
      let address = try address(rig, key, "&passphrase=env:BYWAY_TEST_NOT_SET")
      let error = await bywayError {
        _ = try await rig.transport.connect(to: address, context: .test(limit: .seconds(60)))
      }
      #expect(error?.message.contains("did not let \(rig.server.user) in with \(key)") == true)
    }
  }

  @Test("the event loop notices that the server has gone while a key with many rounds is decrypted")
  func slow() async throws {
    try await SSHRig.with("LogLevel VERBOSE") { rig in
      let key = try await makeKey(["-t", "ed25519"], for: rig)
      try Self.multiplyRounds(key)
      let name = Self.variable(Self.passphrase)
      defer { unsetenv(name) }
      let address = try address(rig, key, "&passphrase=env:\(name)")
      async let error = bywayError {
        _ = try await rig.transport.connect(to: address, context: .test(limit: .seconds(60)))
      }
      // The server would accept the key. It repeats that for the attempt with the passphrase.
      #expect(try await eventually { rig.server.process.errorText.components(separatedBy: "Postponed ").count > 2 })
      let start = NIODeadline.now()
      rig.server.killSessions()
      let message = await error?.message ?? ""
      #expect(message.contains("ended the connection before the login was done"), "\(message)")
      // A thousand rounds take five seconds and more.
      #expect(NIODeadline.now() - start < .seconds(3))
    }
  }

  /// Changes the number of rounds from 16 to 1024. The passphrase is then wrong, which takes as long to find out.
  private static func multiplyRounds(_ path: String) throws {
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    var bytes = try #require(Base64.decode(Array(lines.dropFirst().dropLast().joined().utf8)))
    // The number follows the names of cipher and derivation, and sixteen bytes of salt (PROTOCOL.key).
    let place = try #require(bytes.firstRange(of: [0, 0, 0, 16, 0, 0, 0, 1]))
    bytes.replaceSubrange(place.lowerBound..<place.lowerBound + 4, with: [0, 0, 4, 0])
    let text = ([lines[0]] + [Substring(Base64.encode(bytes))] + [lines[lines.count - 1]]).joined(separator: "\n")
    try Data((text + "\n").utf8).write(to: URL(filePath: path))
  }
}
