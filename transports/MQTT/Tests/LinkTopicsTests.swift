import Byway
import NIOCore
import Testing

@testable import MQTTTransport

@Suite("Addresses and topics of MQTT links") struct LinkTopicsTests {
  private static let name = "0123456789abcdef0123456789abcdef"

  @Test(
    "an MQTT address has a broker and a topic",
    arguments: ["127.0.0.1/a", "localhost:1884/byway/sensor1", "[::1]/ä/b", "me@127.0.0.1/a"])
  func addresses(_ rest: String) throws {
    try MQTTTransport().check(LinkAddress("mqtt://\(rest)"))
    try MQTTTransport(isSecure: true).check(LinkAddress("mqtts://\(rest)"))
  }

  @Test(
    "a topic that reaches other devices, or that brokers do not allow, is refused",
    arguments: [
      ("", "no topic"), ("/", "no topic"), ("/a/+/b", "wildcard"), ("/a+b", "wildcard"), ("/a/b#", "wildcard"),
      ("/a//b", "empty level"), ("/a/", "empty level"), ("//a", "empty level"), ("/$SYS/a", "reserved"),
      ("/a b", "space"), ("/a\u{7}", "control"), ("/" + String(repeating: "a", count: 201), "200 bytes"),
    ])
  func badTopics(_ path: String, _ problem: String) {
    let error = #expect(throws: BywayError.self) {
      _ = try LinkTopics(LinkAddress("mqtt://127.0.0.1\(path)"))
    }
    #expect(error?.code == .invalidAddress && error?.message.contains(problem) == true)
    #expect(error?.message.contains("write mqtt://BROKER/TOPIC") == true)
  }

  @Test("a topic of 200 bytes is accepted")
  func longest() throws {
    _ = try LinkTopics(LinkAddress("mqtt://127.0.0.1/" + String(repeating: "a", count: 200)))
  }

  @Test(
    "other mistakes in MQTT addresses are refused",
    arguments: [
      ("mqtt://broker.example/a", "use mqtts:, or add insecure=yes"), ("mqtt://10.1.2.3/a", "insecure=yes"),
      ("mqtt://127.0.0.1:0/a", "port 0"), ("mqtt://me:secret@127.0.0.1/a", "must not contain a password"),
      ("mqtt://127.0.0.1/a?password=/p", "without a user"), ("mqtt://me@127.0.0.1/a?password=", "is empty"),
      ("mqtts://h/a?cert=/c", "both cert=FILE and key=FILE"), ("mqtts://h/a?ca=", "is empty"),
      ("mqtt://127.0.0.1/a?insecure=1", "insecure=yes"),
    ])
  func mistakes(_ text: String, _ words: String) throws {
    let address = try LinkAddress(text)
    let transport = MQTTTransport(isSecure: address.scheme == "mqtts")
    let error = #expect(throws: BywayError.self) { try transport.check(address) }
    #expect(error?.code == .invalidAddress && error?.message.contains(words) == true)
    #expect(error?.message.contains("secret") == false)
  }

  @Test("a broker elsewhere may be used without TLS where the address permits it")
  func insecure() throws {
    let target = try MQTTTarget(LinkAddress("mqtt://broker.example/a?insecure=yes"))
    #expect(target.port == 1883 && target.host == "broker.example" && !target.isSecure)
    #expect(try MQTTTarget(LinkAddress("mqtts://broker.example/a")).port == 8883)
  }

  @Test("each session has topics of its own, and names of other forms are ignored")
  func sessions() throws {
    let topics = try LinkTopics(LinkAddress("mqtt://127.0.0.1/x/y"))
    let name = try #require(SessionName(Self.name[...]))
    #expect(topics.gateway == "x/y/gateway" && topics.anyUp == "x/y/s/+/up")
    #expect(topics.up(name) == "x/y/s/\(Self.name)/up" && topics.down(name) == "x/y/s/\(Self.name)/down")
    #expect(topics.session(ofUp: topics.up(name)) == name)
    for topic in [
      "x/y/s/\(Self.name)/down", "x/y/s/\(Self.name.dropLast())/up", "x/y/s/\(Self.name)0/up", "x/s/\(Self.name)/up",
      "x/y/s/\(Self.name.uppercased())/up", "x/y/s//up", "x/y/s/up",
    ] {
      #expect(topics.session(ofUp: topic) == nil, "\(topic)")
    }
    let random = SessionName.random()
    #expect(SessionName("\(random)"[...]) == random && random != .random())
  }

  @Test("an announcement of a gateway is told from foreign messages")
  func presence() throws {
    let run = try #require(SessionName(Self.name[...]))
    for presence in [Presence.absent, .present(run), .leaving(run)] { #expect(Presence(presence.payload) == presence) }
    #expect(Presence.present(run).payload == Array("byway 1 \(Self.name)".utf8))
    for text in [
      "x", "byway 2 \(Self.name)", "byway 1 \(Self.name) ", "byway 1 \(Self.name) leaving ", "byway 1 ",
      "byway 1 \(Self.name) leaving" + String(repeating: " leaving", count: 9),
    ] {
      #expect(Presence(Array(text.utf8)) == .foreign, "\(text)")
    }
    #expect(Presence([0xFF, 0xFE]) == .foreign)
  }

  @Test("a flood of openings replaces those that do not open, and refuses more")
  func openings() {
    var table = OpeningTable()
    let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    let names = (0...OpeningTable.limit).map { _ in SessionName.random() }
    for name in names.dropLast() { #expect(table.admit(name, at: start) == .admitted) }
    let last = names[OpeningTable.limit]
    #expect(table.admit(last, at: start + OpeningTable.patience - .nanoseconds(1)) == .refused)
    #expect(table.admit(last, at: start + OpeningTable.patience) == .replacing(names[0]))
    #expect(table.count == OpeningTable.limit)
    table.remove(names[1])
    #expect(table.admit(.random(), at: start) == .admitted)
  }

  @Test("pauses before new connections are random, and grow up to two seconds")
  func pauses() {
    var pause = ReconnectPause()
    for longest in [200, 400, 800, 1600, 2000, 2000] as [Int64] {
      let range = TimeAmount.milliseconds(longest / 2)...TimeAmount.milliseconds(longest)
      #expect(range.contains(pause.next()))
    }
    pause.reset()
    #expect(pause.next() <= .milliseconds(200))
  }

  @Test("messages fit into the broker's packets, and have at most 64 KiB")
  func messageLimit() {
    #expect(BrokerThread.messageLimit(packetLimit: Int(UInt32.max)) == 65_536)
    #expect(BrokerThread.messageLimit(packetLimit: 1300) == 1000)
    #expect(BrokerThread.messageLimit(packetLimit: 10) == 1)
  }

  @Test("an empty message counts for its topic and its place in the queue")
  func cost() {
    #expect(BrokerMessage(topic: "ab", payload: [], isRetained: false).cost == 258)
    #expect(BrokerMessage(topic: "ab", payload: [1, 2, 3], isRetained: false).cost == 261)
  }
}
