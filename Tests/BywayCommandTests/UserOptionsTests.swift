import ArgumentParser
import Byway
import BywayProxy
import Foundation
import NIOSSL
import TCPTransport
import TestPeers
import TestTools
import Testing
import UnixTransport

@testable import BywayCommand
@testable import BywayDaemonProcess

extension Parsing {
  /// Users and rights on a command line and in a file.
  @Suite("Options for users") struct UserOptionsTests {
    private static let hash = "$2y$04$CukWxI5kfl3YM7m7ze/cBeVJnCwNSd951tql1FpmIRcq6B7RRrWBm"

    private let transports = TransportRegistry([UnixTransport(), TCPTransport(), TLSTransport()])
    private let folder: TemporaryFolder

    init() throws {
      folder = try TemporaryFolder()
      try folder.write("alice = printer\n", to: "rights")
      try folder.write("alice:\(Self.hash)\n", to: "users")
      chmod(folder["users"], 0o600)
    }

    private func plan(_ text: String) throws -> ProxyConfiguration {
      let file = try folder.write("device = printer=unix:/run/printer\n\(text)\n", to: "p.conf")
      let plan = try CommandPlan<ProxyCommand>.Source(file: file, arguments: [], transports: transports).read(
        given: ProxyCommand.parse([]))
      return try #require(plan.members.first?.member.configuration)
    }

    private func lines(_ lines: String) -> String {
      lines.replacing("RIGHTS", with: "rights = \(folder["rights"])").replacing(
        "USERS", with: "users = \(folder["users"])"
      )
      .replacing("; ", with: "\n")
    }

    @Test(
      "users are identified by a password, a certificate or a reverse proxy",
      arguments: [
        ("listen = 127.0.0.1:0; RIGHTS; USERS", true, false), ("listen = unix:/run/p; RIGHTS; USERS", true, false),
        ("listen = https://0.0.0.0:8443?cert=c&key=k; RIGHTS; USERS", true, false),
        ("listen = https://0.0.0.0:8443?cert=c&key=k&ca=a; RIGHTS", false, false),
        ("listen = unix:/run/p; RIGHTS; user-header = X-Remote-User", false, true),
        ("listen = unix:/run/p; RIGHTS; USERS; user-header = X-Remote-User", true, true),
      ])
    func ways(text: String, hasPasswords: Bool, hasHeader: Bool) throws {
      let users = try #require(try plan(lines(text)).users)
      #expect((users.passwords != nil) == hasPasswords)
      #expect((users.header != nil) == hasHeader)
    }

    @Test("without --rights, no user is identified")
    func none() throws {
      #expect(try plan("listen = 127.0.0.1:0").users == nil)
    }

    @Test("a TLS client needs a certificate unless users can log in")
    func clients() throws {
      let listen = "listen = https://0.0.0.0:8443?cert=c&key=k&ca=a; RIGHTS"
      #expect(try plan(lines(listen)).listen.address[option: "clients"] == nil)
      #expect(try plan(lines("\(listen); USERS")).listen.address[option: "clients"] == "any")
      #expect(try plan(lines("\(listen); USERS")).listen.address.scheme == "tls")
    }

    @Test(
      "a contradictory combination of user options is refused with advice",
      arguments: [
        ("listen = 127.0.0.1:0; USERS", "users needs rights = FILE"),
        ("listen = unix:/run/p; user-header = X-Remote-User", "user-header needs rights = FILE"),
        ("listen = 127.0.0.1:0; audit-log = /tmp/a", "audit-log needs rights = FILE"),
        ("listen = 127.0.0.1:0; RIGHTS", "rights needs a way to identify users: add users = FILE"),
        ("listen = https://127.0.0.1:8443?cert=c&key=k; RIGHTS", "rights needs a way to identify users"),
        ("listen = 127.0.0.1:0; RIGHTS; user-header = X-Remote-User", "accepted on a Unix socket only"),
        (
          "listen = https://127.0.0.1:0?cert=c&key=k&ca=a; RIGHTS; user-header = X-User",
          "accepted on a Unix socket only"
        ),
        ("listen = fd:web; RIGHTS; user-header = X-User", "Unknown link scheme"),
        ("listen = unix:/run/p; RIGHTS; user-header = Host", "means something else"),
        ("listen = unix:/run/p; RIGHTS; user-header = AUTHORIZATION", "means something else"),
        ("listen = unix:/run/p; RIGHTS; user-header = X: y", "is not the name of a field"),
        ("listen = 0.0.0.0:8080; listen-anywhere = yes; RIGHTS; USERS", "could be read on the way"),
        ("listen = https://0.0.0.0:8443?cert=c&key=k&clients=any", "lets in anyone who reaches it"),
        ("listen = https://0.0.0.0:8443?cert=c&key=k&clients=some; RIGHTS; USERS", "clients=some is unknown"),
        ("listen = unix:/run/p; hub = tls://0.0.0.0:7000?cert=c&key=k&ca=a&clients=any", "gateways need certificates"),
        ("listen = 127.0.0.1:0; RIGHTS; USERS; replay = /tmp/x", "lets all users see one user's responses"),
        ("listen = 127.0.0.1:0; RIGHTS; USERS; record = /tmp/x", "lets all users see one user's responses"),
        ("listen = 127.0.0.1:0; RIGHTS; USERS; inspect = 127.0.0.1:0", "write inspect = unix:PATH"),
        ("listen = 127.0.0.1:0; RIGHTS; users = /nothing/there", "Cannot read /nothing/there"),
      ])
    func refused(text: String, words: String) {
      #expect {
        _ = try plan(lines(text))
      } throws: { error in
        let message = error.asFailure.message
        return message.contains(words)
      }
    }

    @Test("a password file that others can read and a rights file that others can write are refused")
    func exposed() throws {
      chmod(folder["users"], 0o644)
      let text = lines("listen = 127.0.0.1:0; RIGHTS; USERS")
      let readable = #expect(throws: (any Error).self) { try plan(text) }
      #expect(readable?.asFailure.message.contains("others may read it") == true)
      chmod(folder["users"], 0o600)
      chmod(folder["rights"], 0o666)
      let writable = #expect(throws: (any Error).self) { try plan(text) }
      #expect(writable?.asFailure.message.contains("Others can write to") == true)
    }

    @Test("a pipe in place of a user file is refused without waiting")
    func pipes() throws {
      mkfifo(folder["pipe"], 0o600)
      let error = #expect(throws: (any Error).self) {
        try plan("listen = 127.0.0.1:0\nrights = \(folder["pipe"])\nusers = \(folder["users"])")
      }
      #expect(error?.asFailure.message.contains("not a regular file") == true)
    }

    @Test("an invalid line in a file of users or rights is reported with its number")
    func wrongLines() throws {
      try folder.write("alice = printer\nbob\n", to: "rights")
      let text = lines("listen = 127.0.0.1:0; RIGHTS; USERS")
      let rights = #expect(throws: (any Error).self) { try plan(text) }
      #expect(rights?.asFailure.message.contains("rights, line 2") == true, "\(String(describing: rights))")
      try folder.write("alice = printer\n", to: "rights")
      try folder.write("alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n", to: "users")
      let users = #expect(throws: (any Error).self) { try plan(text) }
      #expect(users?.asFailure.message.contains("users, line 1: alice has a hash of SHA-1") == true)
      #expect(users?.asFailure.status == .noInput)
    }
  }
}

/// User names in certificates.
@Suite("Users by certificate", .timeLimit(.minutes(1))) struct CertificateUserTests {
  @Test(
    "the user is the e-mail name or else the only common name; a certificate with a host name has no user")
  func names() async throws {
    let certificates = try await Certificates()
    for (subject, names, user) in [
      ("/O=Example/CN=alice", nil, "alice"), ("/CN=Carol Müller", nil, "Carol Müller"),
      ("/CN=somebody", "email:bob@example.org", "bob@example.org"),
      ("/CN=a", "email:bob@example.org,email:eve@example.org", nil), ("/CN=alice/CN=bob", nil, nil),
      ("/O=Example", nil, nil), ("/CN=alice", "DNS:printer", nil), ("/CN=alice", "IP:192.0.2.7", nil),
      ("/CN=alice", "email:bob@example.org,DNS:printer", nil), ("/CN=*", nil, nil), ("/CN=a:b", nil, nil),
      ("/CN=alice", "URI:spiffe://example.org/printer", nil),
      ("/CN=a", "email:bob@example.org,URI:https://example.org/bob", "bob@example.org"),
    ] as [(String, String?, String?)] {
      let identity = try await certificates.issue(person: subject, names: names)
      let bytes = try #require(try NIOSSLCertificate.fromPEMFile(identity.cert).first).toDERBytes()
      #expect(CertificateUser.name(in: bytes)?.text == user, "\(subject) \(names ?? "-")")
    }
    #expect(CertificateUser.name(in: []) == nil)
    #expect(CertificateUser.name(in: Array("no certificate".utf8)) == nil)
  }
}
