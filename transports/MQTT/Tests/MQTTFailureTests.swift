import Byway
import Foundation
import NIOCore
import TestTools
import Testing
import TransportTestSupport

@testable import MQTTTransport

/// Tests the messages of MQTT links, and the files that their addresses name.
@Suite("Failures of MQTT links") struct MQTTFailureTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func target(_ rest: String = "", scheme: String = "mqtt") throws -> MQTTTarget {
    try MQTTTarget(LinkAddress("\(scheme)://me@127.0.0.1/a/b\(rest)"))
  }

  private func file(_ text: String, _ name: String, mode: Int = 0o600) throws -> String {
    let path = try folder.write(text, to: name)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    return path
  }

  @Test(
    "the end of a connection to the broker says what to check",
    arguments: [
      (.refused(code: 0x86, words: "w"), .loginRefused, "refuses the login: check the user in mqtt://USER@127.0.0.1/…"),
      (.refused(code: 0x87, words: "w"), .loginRefused, "refuses the login"),
      (.refused(code: 4, words: "w"), .loginRefused, "refuses the login"),
      (.refused(code: 5, words: "w"), .loginRefused, "refuses the login"),
      (.refused(code: 0x84, words: "w"), .loginRefused, "does not speak MQTT 5"),
      (.refused(code: 1, words: "w"), .loginRefused, "does not speak MQTT 5"),
      (.refused(code: 0x88, words: "busy"), .loginRefused, "refuses the connection (busy)"),
      (.denied(code: 0x87, words: "acl"), .loginRefused, "refuses the connection (acl)"),
      (.dismissed(code: 0x8E, words: "taken"), .notConnected, "has ended the connection (taken): look into its log"),
      (.tls("bad"), .handshakeFailed, "TLS with the broker 127.0.0.1:1883 failed (bad)"),
      (.silent, .noAnswer, "did not answer in time"),
      (.lost("gone"), .notConnected, "(gone): check that the port is one for MQTT without TLS."),
      (.closed, .notConnected, "was closed at this end"),
    ] as [(BrokerEnd, LinkFault, String)])
  func ends(_ end: BrokerEnd, _ fault: LinkFault, _ words: String) throws {
    let error = MQTTFailure.connecting(to: try target(), end)
    #expect(error.code == .linkUnavailable && error.processing == BywayError.Processing.none)
    #expect(error.diagnosis?.fault == fault && error.message.contains(words), "\(error)")
    #expect(MQTTFailure.mayPass(error) == (fault == .noAnswer))
    let secure = MQTTFailure.connecting(to: try target(scheme: "mqtts"), end).message
    #expect(!secure.contains("without TLS") && !secure.contains("mqtt:"))
  }

  @Test("a gateway waits for a broker that may come later, and for no other error")
  func passing() throws {
    func error(_ fault: LinkFault) -> BywayError { BywayError(.linkUnavailable, Diagnosis(fault, "x")) }
    for fault: LinkFault in [.nobodyListens, .noAnswer, .noRoute, .unknownName, .noNameService] {
      #expect(MQTTFailure.mayPass(error(fault)), "\(fault)")
    }
    for fault: LinkFault in [.loginRefused, .handshakeFailed, .notConnected, .inUse, .noGateway] {
      #expect(!MQTTFailure.mayPass(error(fault)), "\(fault)")
    }
    #expect(!MQTTFailure.mayPass(BywayError(.linkUnavailable, "x")))
  }

  @Test("a topic that the broker forbids is named with its use, and another error is one of the connection")
  func topics() throws {
    let denied = BrokerEnd.denied(code: 0x87, words: "Not authorized")
    for (use, word) in [(MQTTFailure.TopicUse.reading, "read"), (.writing, "write")] {
      let error = MQTTFailure.topic("a/b/gateway", for: use, of: try target(), denied)
      #expect(error.message.contains("does not let this end \(word) a/b/gateway (Not authorized)"), "\(error)")
    }
    let other = MQTTFailure.topic("a/b/gateway", for: .reading, of: try target(), BrokerEnd.silent)
    #expect(other.diagnosis?.fault == .noAnswer)
  }

  @Test("a password is the first line of its file, and its group may read it")
  func passwords() throws {
    for rest in ["\n", "\r\n", "", "\nother\n"] {
      let source = PasswordSource(try file("päss word:1\(rest)", "password", mode: 0o640))
      #expect(try source.read(code: .unreadableFile) == "päss word:1")
    }
    for text in ["", "\nsecret", "a\0b"] {
      let source = PasswordSource(try file(text, "password"))
      let error = #expect(throws: BywayError.self) { try source.read(code: .unreadableFile) }
      #expect(error?.message.contains("must have the password in its first line") == true)
    }
    let long = PasswordSource(try file(String(repeating: "a", count: (16 << 10) + 1), "password"))
    #expect(throws: BywayError.self) { try long.read(code: .unreadableFile) }
    let longest = PasswordSource(try file(String(repeating: "a", count: 16 << 10), "password"))
    #expect(try longest.read(code: .unreadableFile).utf8.count == 16 << 10)
    #expect(PasswordSource("env:A:B") == .variable("A:B") && PasswordSource("/env:A") == .file("/env:A"))
    #expect(try PasswordSource("env:PATH").read(code: .unreadableFile).contains("/bin"))
  }

  @Test("the settings of a connection have the login and the files of the address")
  func settings() throws {
    let password = try file("secret\nnext\n", "password")
    let plain = try target("?password=\(password)").settings(clientID: "c")
    #expect(plain.user == "me" && plain.password == "secret" && plain.tls == nil && plain.clientID == "c")
    #expect(plain.host == "127.0.0.1" && plain.port == 1883 && plain.will == nil)
    let (ca, cert, key) = (try file("x", "ca", mode: 0o644), try file("x", "cert", mode: 0o644), try file("x", "key"))
    let secure = try target("?ca=\(ca)&cert=\(cert)&key=\(key)", scheme: "mqtts").settings(clientID: "c")
    #expect(secure.tls?.ca == ca && secure.tls?.identity?.cert == cert && secure.tls?.identity?.key == key)
    #expect(secure.port == 8883 && secure.password == nil)
    let usual = try target(scheme: "mqtts").settings(clientID: "c")
    #expect(usual.tls != nil && usual.tls?.ca == nil && usual.tls?.identity == nil)
  }

  @Test("a file of an address that is missing, or a key that others can read, is refused with its option")
  func files() throws {
    let (ca, cert, key) = (try file("x", "ca"), try file("x", "cert"), try file("x", "key"))
    let exposed = try file("x", "exposed", mode: 0o644)
    for (options, words) in [
      ("ca=/no/such", "Cannot read /no/such (ca=)"),
      ("ca=\(ca)&cert=/no/such&key=\(key)", "Cannot read /no/such (cert=)"),
      ("ca=\(ca)&cert=\(cert)&key=/no/such", "Cannot read /no/such (key=)"),
      ("cert=\(cert)&key=\(exposed)", "\(exposed) (key=): others may read it"),
    ] {
      let address = try LinkAddress("mqtts://127.0.0.1/a?\(options)")
      let error = #expect(throws: BywayError.self) { try MQTTTransport(isSecure: true).check(address, for: .listen) }
      #expect(error?.code == .unreadableFile && error?.message.contains(words) == true, "\(error as Any)")
    }
  }

  @Test("each scheme has its own options: those of TLS only with it, and insecure= only without")
  func options() throws {
    let (plain, secure) = (MQTTTransport(), MQTTTransport(isSecure: true))
    #expect(plain.options.map(\.name) == ["password", "insecure"])
    #expect(secure.options.map(\.name) == ["password", "ca", "cert", "key"])
    #expect(plain.forms.map(\.pattern) == ["mqtt://BROKER/TOPIC"] && plain.crossesNetwork)
    #expect(secure.forms.map(\.pattern) == ["mqtts://BROKER/TOPIC"])
    let address = try LinkAddress("mqtts://h/a")
    #expect(secure.isEncrypted(address) && !plain.isEncrypted(address))
  }

  @Test("a user is decoded, and cannot be empty or have a colon", arguments: ["%3A", "a%3Ab", "", "a%00"])
  func users(_ user: String) throws {
    #expect(throws: BywayError.self) { try MQTTTarget(LinkAddress("mqtt://\(user)@127.0.0.1/a")) }
    #expect(try MQTTTarget(LinkAddress("mqtt://m%C3%A4@127.0.0.1/a")).settings(clientID: "").user == "mä")
  }

  @Test("a plain broker is one of this machine, unless the address says insecure=yes")
  func privacy() throws {
    for host in ["127.1.2.3", "[::1]", "localhost", "LOCALHOST", "a.localhost"] {
      _ = try MQTTTarget(LinkAddress("mqtt://\(host)/a"))
    }
    for host in ["notlocalhost", "localhost.example", "128.0.0.1", "[::2]"] {
      #expect(throws: BywayError.self, "\(host)") { try MQTTTarget(LinkAddress("mqtt://\(host)/a")) }
      _ = try MQTTTarget(LinkAddress("mqtts://\(host)/a"))
    }
  }

  @Test("the first pauses before new connections are random in their upper half")
  func pauses() {
    var found: Set<Int64> = []
    for _ in 0..<20 {
      var pause = ReconnectPause()
      found.insert(pause.next().nanoseconds)
    }
    #expect(found.count > 10 && found.allSatisfy { (100_000_000...200_000_000).contains($0) })
  }

  @Test("a user's opening is forgotten when its session is open, and the oldest gives way first")
  func openings() {
    var table = OpeningTable()
    let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    let names = (0..<OpeningTable.limit).map { _ in SessionName.random() }
    for (index, name) in names.enumerated() { _ = table.admit(name, at: start + .milliseconds(Int64(index))) }
    #expect(names.count == 64)
    let later = start + .milliseconds(500)
    #expect(table.admit(.random(), at: later) == .replacing(names[0]))
    #expect(table.admit(.random(), at: later) == .refused)
    #expect(table.admit(.random(), at: later + .milliseconds(1)) == .replacing(names[1]))
    table.remove(names[3])
    #expect(table.count == OpeningTable.limit - 1 && table.admit(.random(), at: later) == .admitted)
  }
}
