import Byway
import BywayPrimitives
import Foundation
import NIOPosix
import TestPeers
import TestTools
import Testing

@testable import SSHTransport

@Suite("Lines of known_hosts")
struct TrustKnownHostsTests {
  /// A key of arbitrary bytes after its type.
  static func key(_ type: String = "ssh-ed25519", _ value: UInt8 = 1) throws -> PublicKey {
    var writer = WireWriter()
    writer.string(type.utf8)
    writer.string([UInt8](repeating: value, count: 32))
    return try #require(PublicKey(writer.bytes))
  }

  static func text(_ key: PublicKey) -> String { "\(key.type) \(Base64.encode(key.blob))" }

  static func verdict(_ lines: [String], host: String, port: Int = 22, key: PublicKey) -> String {
    var known = KnownHosts(for: KnownHostName(host: host, port: port))
    known.read(Array(lines.joined(separator: "\n").utf8), from: "kh")
    return switch known.verify(key) {
    case .trusted: "trusted"
    case .unknown: "unknown"
    case .changed(let entries): "changed " + entries.map { $0.place.description }.joined(separator: " ")
    case .revoked(let place): "revoked \(place)"
    case .certificateAuthority(let place): "authority \(place)"
    }
  }

  @Test(
    "names in known_hosts match as in ssh",
    arguments: [
      ("example.com", "example.com", 22, true),
      ("example.com", "EXAMPLE.com", 22, true),
      ("EXAMPLE.com", "example.com", 22, true),
      ("example.com", "a.example.com", 22, false),
      ("*.example.com", "a.example.com", 22, true),
      ("*.example.com", "example.com", 22, false),
      ("host?", "host1", 22, true),
      ("host?", "host", 22, false),
      ("host?", "host12", 22, false),
      ("a,b,c", "b", 22, true),
      ("*.example.com,!bad.example.com", "bad.example.com", 22, false),
      ("!bad.example.com,*.example.com", "good.example.com", 22, true),
      ("!bad.example.com", "good.example.com", 22, false),
      ("[example.com]:2222", "example.com", 2222, true),
      ("[example.com]:2222", "example.com", 22, false),
      ("example.com", "example.com", 2222, false),
      ("[*.example.com]:2222", "a.example.com", 2222, true),
      ("[*]:*", "a.example.com", 2222, true),
      ("*", "a.example.com", 2222, true),
      ("[example.com]:22", "example.com", 22, false),
      ("::1", "::1", 22, true),
      ("[::1]:2222", "::1", 2222, true),
      ("192.0.2.*", "192.0.2.77", 22, true),
    ])
  func names(pattern: String, host: String, port: Int, matches: Bool) async throws {
    let key = try Self.key()
    #expect(
      Self.verdict(["\(pattern) \(Self.text(key))"], host: host, port: port, key: key)
        == (matches ? "trusted" : "unknown"))
  }

  @Test("the same lines match as for ssh-keygen -F, hashed and plain")
  func keygenAgrees() async throws {
    let folder = try TemporaryFolder()
    let key = try await KeyMaker.make("k", in: folder)
    let line = try KeyMaker.publicLine(key)
    let patterns = [
      "plain.test", "[plain.test]:2222", "*.wild.test,!not.wild.test", "a.test,b.test", "192.0.2.1", "[192.0.2.1]:22",
      "UPPER.test", "[*.ports.test]:2200", "q?.test",
    ]
    let names = [
      ("plain.test", 22), ("plain.test", 2222), ("plain.test", 2223), ("x.wild.test", 22), ("not.wild.test", 22),
      ("a.test", 22), ("b.test", 22), ("c.test", 22), ("192.0.2.1", 22), ("upper.test", 22), ("UPPER.TEST", 22),
      ("x.ports.test", 2200), ("x.ports.test", 22), ("q1.test", 22), ("q.test", 22),
    ]
    for isHashed in [false, true] {
      let path = try folder.write(
        patterns.map { "\($0) \(line)\n" }.joined(), to: isHashed ? "hashed" : "plain")
      if isHashed { try await KeyMaker.keygen(["-H", "-f", path]) }
      let bytes = try [UInt8](Data(contentsOf: URL(filePath: path)))
      #expect(String(decoding: bytes, as: UTF8.self).contains("|1|") == isHashed)
      for (host, port) in names {
        let name = KnownHostName(host: host, port: port)
        var known = KnownHosts(for: name)
        known.read(bytes, from: path)
        let oracle = try await Program.sshKeygen.run(["-F", name.description, "-f", path])
        #expect(known.entries.isEmpty == (oracle.exitCode != 0), "\(name), hashed: \(isHashed)")
      }
    }
  }

  @Test("a fingerprint is the same as that of ssh-keygen -l", arguments: ["ed25519", "ecdsa", "rsa"])
  func fingerprint(type: String) async throws {
    let folder = try TemporaryFolder()
    let path = try await KeyMaker.make("k", ["-t", type], in: folder)
    let printed = try await KeyMaker.keygen(["-l", "-f", "\(path).pub"]).split(separator: " ")
    let key = try KeyMaker.publicKey(path)
    #expect(printed.contains { $0 == key.fingerprint })
    #expect(printed.last?.contains("(\(key.family))") == true)
  }

  @Test("a key in any known_hosts file is trusted, and another one is a change, reported with every place")
  func changed() throws {
    let lines = try ["h \(Self.text(Self.key("ssh-ed25519", 1)))", "# h", "h \(Self.text(Self.key("ssh-ed25519", 2)))"]
    #expect(try Self.verdict(lines, host: "h", key: Self.key("ssh-ed25519", 2)) == "trusted")
    #expect(try Self.verdict(lines, host: "h", key: Self.key("ssh-ed25519", 3)) == "changed kh:1 kh:3")
    #expect(try Self.verdict(lines, host: "h", key: Self.key("ecdsa-sha2-nistp256", 1)) == "changed kh:1 kh:3")
    #expect(try Self.verdict(lines, host: "other", key: Self.key("ssh-ed25519", 3)) == "unknown")
  }

  @Test("a revoked key is refused even if it is also listed, and other keys are not affected")
  func revoked() throws {
    let (old, new) = try (Self.key("ssh-ed25519", 1), Self.key("ssh-ed25519", 2))
    let lines = ["h \(Self.text(old))", "h \(Self.text(new))", "@revoked * \(Self.text(old))"]
    #expect(Self.verdict(lines, host: "h", key: old) == "revoked kh:3")
    #expect(Self.verdict(lines, host: "h", key: new) == "trusted")
    #expect(Self.verdict(["@revoked\t*  \(Self.text(old)) comment"], host: "h", key: new) == "unknown")
  }

  @Test("a certificate authority alone is reported, and a key that is listed besides it is accepted")
  func authority() throws {
    let (authority, key) = try (Self.key("ssh-ed25519", 1), Self.key("ssh-ed25519", 2))
    let line = "@cert-authority *.test \(Self.text(authority))"
    #expect(Self.verdict([line], host: "h.test", key: key) == "authority kh:1")
    // The authority's own key is not a host key.
    #expect(Self.verdict([line], host: "h.test", key: authority) == "authority kh:1")
    #expect(Self.verdict([line, "h.test \(Self.text(key))"], host: "h.test", key: key) == "trusted")
  }

  @Test("invalid lines of known_hosts are counted, and the lines after them are used")
  func badLines() throws {
    let key = try Self.key()
    let bad = [
      "h", "h ssh-ed25519", "h ssh-ed25519 AAAA", "h ssh-rsa \(Base64.encode(key.blob))",
      "@unknown h \(Self.text(key))",
      "|1|x|y \(Self.text(key))", "|2|AAAA|AAAA \(Self.text(key))", "h ssh-ed25519 !!!!", "\u{0}\u{1} \u{2}",
    ]
    var known = KnownHosts(for: KnownHostName(host: "h", port: 22))
    known.read(
      Array((bad + ["", "  ", "# c", "  \th\t\(Self.text(key)) c\r"]).joined(separator: "\n").utf8), from: "kh")
    #expect(known.badLines.count == bad.count)
    #expect(known.badLines.first.map(\.line) == [1, 2, 3])
    guard case .trusted = known.verify(key) else {
      Issue.record("the good line was not found")
      return
    }
  }

  @Test("the login asks for the algorithms of the listed keys, RSA with SHA-2")
  func algorithms() throws {
    var known = KnownHosts(for: KnownHostName(host: "h", port: 22))
    let rsa = try "h \(Self.text(Self.key("ssh-rsa")))"
    let lines = [rsa, try "h \(Self.text(Self.key("ecdsa-sha2-nistp384")))", try "@revoked h \(Self.text(Self.key()))"]
    known.read(Array(lines.joined(separator: "\n").utf8), from: "kh")
    #expect(known.algorithms == ["ecdsa-sha2-nistp384", "rsa-sha2-512", "rsa-sha2-256"])
    #expect(KnownHosts(for: KnownHostName(host: "x", port: 22)).algorithms.isEmpty)
  }

  @Test("known_hosts with ten megabytes of hashed names and noise is read")
  func large() async throws {
    let key = try Self.key()
    let other = KnownHostName(host: "other", port: 22)
    let line = KnownHostsLine(marker: nil, names: .init(hashing: other), key: key).description
    let noise = String(repeating: "x", count: 1 << 20)
    var lines = [String](repeating: line, count: 10_000)
    lines += [String](repeating: noise, count: 8)
    lines.append("h \(Self.text(key))")
    #expect(lines.reduce(0) { $0 + $1.utf8.count } > 9 << 20)
    let read = lines
    // Takes seconds in an unoptimized build, so it does not run on a thread that other tests need.
    let verdict = try await NIOThreadPool.singleton.runIfActive { Self.verdict(read, host: "h", key: key) }
    #expect(verdict == "trusted")
  }

  @Test("a pattern with thousands of stars is matched in a short time")
  func manyStars() {
    let pattern = Array((String(repeating: "*a", count: 2_000) + "b").utf8)
    #expect(!PatternList.matches([UInt8](repeating: UInt8(ascii: "a"), count: 4_000), pattern: pattern))
  }

  @Test("base64 decodes its own output, and rejects other text")
  func base64() {
    for count in 0..<70 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37) }
      #expect(Base64.encode(bytes) == Data(bytes).base64EncodedString())
      #expect(Base64.decode(Array(Base64.encode(bytes).utf8)) == bytes)
    }
    for wrong in ["A", "AA", "AAA", "====", "A===", "AA=A", "AB==", "AAB=", "AA A", "AAAA=", "-_AA"] {
      #expect(Base64.decode(Array(wrong.utf8)) == nil, "\(wrong)")
    }
  }
}
