import Byway
import NIOCore
import NIOEmbedded
import TestTools
import Testing
import TransportTestSupport

@testable import MQTTTransport

/// Tests the user's end of a link in virtual time: what it waits for, for how long, and what it leaves behind.
@Suite("A user of an MQTT link in virtual time") struct VirtualUserTests {
  private let broker = VirtualBroker()
  private let log = LogRecord()
  private let target: MQTTTarget

  init() throws {
    target = try MQTTTarget(LinkAddress("mqtt://127.0.0.1/t"))
  }

  private func gateway() throws -> GatewayListener {
    let listener = try GatewayListener(target, on: broker.loop, over: broker.access, context: broker.context())
    let start = Outcome(listener.start(by: broker.loop.now + .seconds(10)))
    broker.advance(2000)
    #expect(start.value != nil, "\(start.failure as Any)")
    return listener
  }

  private func user() throws -> MQTTClientSession {
    try MQTTClientSession(target, on: broker.loop, over: broker.access, context: broker.context(log))
  }

  private func reach(_ session: MQTTClientSession, seconds: Int64 = 10) -> Outcome<Void> {
    let outcome = Outcome(session.reach(by: broker.loop.now + .seconds(seconds)))
    broker.advance()
    return outcome
  }

  private func open(_ session: MQTTClientSession) throws -> any Channel {
    #expect(reach(session).value != nil)
    let opened = Outcome(session.open(by: broker.loop.now + .seconds(10)))
    broker.advance(500)
    return try #require(opened.value, "\(opened.failure as Any)")
  }

  private func abandon(_ session: MQTTClientSession) {
    session.abandon()
    broker.advance()
    #expect(broker.clients.isEmpty)
  }

  /// Uses a session, and checks that nothing refers to it some time later.
  private func expectNoneLeft(after milliseconds: Int64, _ use: (MQTTClientSession) throws -> Void) throws {
    weak var weakSession: MQTTClientSession?
    do {
      let session = try user()
      weakSession = session
      try use(session)
    }
    broker.advance(milliseconds)
    #expect(weakSession == nil)
  }

  private func announce(_ presence: Presence) {
    broker.publish(presence.payload, to: target.topics.gateway, isRetained: true)
  }

  // MARK: Finding the gateway

  @Test("waits a second for an announcement, or until its deadline", arguments: [(10_000, 1000), (300, 300)])
  func announcement(_ limit: Int64, _ end: Int64) throws {
    let session = try user()
    let outcome = Outcome(session.reach(by: broker.loop.now + .milliseconds(limit)))
    broker.advance(end - 1)
    #expect(outcome.result == nil)
    broker.advance(1)
    #expect(outcome.error?.diagnosis?.fault == .noGateway)
    abandon(session)
  }

  @Test("an announcement that comes later is enough")
  func lateAnnouncement() throws {
    let session = try user()
    let outcome = reach(session)
    broker.advance(500)
    announce(.present(.random()))
    broker.advance()
    #expect(outcome.value != nil)
    abandon(session)
  }

  @Test("a broker that is lost before the announcement ends the attempt at once")
  func lostEarly() throws {
    let session = try user()
    let outcome = reach(session)
    broker.restart()
    #expect(outcome.error?.diagnosis?.fault == .notConnected, "\(outcome.failure as Any)")
  }

  @Test("a broker that is lost before the session opens is an error, and no other connection is made")
  func lostBetween() throws {
    announce(.present(.random()))
    try expectNoneLeft(after: 0) { session in
      #expect(reach(session).value != nil)
      broker.restart()
      let opened = Outcome(session.open(by: broker.loop.now + .seconds(10)))
      broker.advance(20_000)
      #expect(opened.error?.diagnosis?.fault == .notConnected && broker.attempts.count == 1)
    }
  }

  @Test("a topic that the broker forbids, or does not answer for, ends the attempt with its name")
  func forbidden() throws {
    for (part, words) in [
      ("/gateway", "read t/gateway"), ("/down", "read t/s/"), ("/up", "write t/s/"),
    ] {
      broker.deniedTopics = { $0.hasSuffix(part) }
      let session = try user()
      #expect(reach(session).error?.message.contains(words) == true)
      session.abandon()
    }
    broker.deniedTopics = { _ in false }
    for part in ["/gateway", "/down", "/up"] {
      broker.silentTopics = { $0.hasSuffix(part) }
      let session = try user()
      let outcome = reach(session)
      broker.advance(9999)
      #expect(outcome.result == nil, "\(part)")
      broker.advance(1)
      #expect(outcome.error?.diagnosis?.fault == .noAnswer, "\(part)")
      session.abandon()
      broker.advance()
    }
    #expect(broker.clients.isEmpty)
  }

  // MARK: Opening

  @Test("a gateway that does not answer ends the attempt at its deadline, and the broker is left")
  func noAnswer() throws {
    announce(.present(.random()))
    try expectNoneLeft(after: 60_000) { session in
      #expect(reach(session).value != nil)
      let opened = Outcome(session.open(by: broker.loop.now + .seconds(4)))
      broker.advance(3999)
      #expect(opened.result == nil && broker.published.contains { $0.topic.hasSuffix("/up") && !$0.payload.isEmpty })
      broker.advance(1)
      #expect(opened.error?.diagnosis?.fault == .noAnswer && broker.clients.isEmpty)
    }
    #expect(broker.attempts.count == 1)
  }

  @Test("a gateway that is replaced or leaves while a session opens is the reason of the failure")
  func replacedEarly() throws {
    for (presence, words) in [(Presence.present(.random()), "was restarted"), (.absent, "has left the broker")] {
      announce(.present(.random()))
      let session = try user()
      #expect(reach(session).value != nil)
      let opened = Outcome(session.open(by: broker.loop.now + .seconds(10)))
      broker.advance()
      announce(presence)
      broker.advance(presence == .absent ? 3000 : 0)
      #expect(opened.error?.message.contains(words) == true, "\(opened.failure as Any)")
      #expect(broker.clients.isEmpty)
    }
  }

  // MARK: The session

  @Test("a session that its owner closes leaves nothing: no connection, no object, no timer")
  func closes() throws {
    let listener = try gateway()
    try expectNoneLeft(after: 120_000) { session in
      let channel = try open(session)
      #expect(broker.clients.count == 2)
      // Both ends close.
      channel.close(promise: nil)
      listener.queue.close()
      broker.advance(1000)
      #expect(!channel.isActive && broker.clients.count == 1)
    }
    #expect(broker.attempts.count == 2)
    _ = listener.close()
    broker.advance()
    #expect(broker.clients.isEmpty)
  }

  @Test("a gateway that is absent ends the session after three seconds, and one that returns does not")
  func absence() throws {
    let listener = try gateway()
    let run = try #require(broker.published.last { $0.topic == target.topics.gateway }).payload
    let record = try ChannelRecord.add(to: open(user()))
    // The broker clears the announcement of a gateway that it has lost.
    let client = try #require(broker.clients.first)
    broker.lose(client)
    broker.advance(2999)
    // It is back by then.
    #expect(broker.clients.count == 2 && record.errors.isEmpty)
    broker.advance(60_000)
    #expect(record.errors.isEmpty && !record.isEnded)
    broker.isUp = false
    broker.lose(try #require(broker.clients.last))
    broker.advance(2000)
    broker.publish([], to: target.topics.gateway)
    broker.advance(999)
    #expect(record.errors.isEmpty)
    broker.advance(1)
    #expect(record.errors.count == 1 && record.errors.first?.contains("has left the broker") == true)
    #expect(record.isEnded && broker.clients.isEmpty && Presence(run) != .foreign)
    _ = listener.close()
  }

  @Test("reaches a lost broker again and again, says why it cannot, and continues")
  func reconnects() throws {
    let listener = try gateway()
    let session = try user()
    let record = try ChannelRecord.add(to: open(session))
    broker.restart(isUp: false)
    #expect(session.unavailableReason?.contains("ended the connection (gone)") == true)
    let first = broker.milliseconds
    broker.advance(9000)
    #expect(session.unavailableReason?.contains("Nothing listens") == true && session.pause != ReconnectPause())
    // Each of the two ends tries: after up to 0.2, 0.4, 0.8, 1.6 s, and then 2 s.
    let times = broker.attempts.dropFirst(2).map { $0.at - first }
    #expect(times.count >= 10 && times.count <= 20 && times.allSatisfy { $0 >= 100 }, "\(times)")
    #expect(broker.attempts.suffix(2).contains { $0.limit == .seconds(5) })
    #expect(
      log.all.contains { $0.hasPrefix("debug The broker is not reached") && $0.contains("link=\(target.address)") })
    broker.isUp = true
    broker.advance(4000)
    #expect(session.unavailableReason == nil && session.pause == ReconnectPause() && broker.clients.count == 2)
    #expect(log.all.contains("notice The broker is reached again link=\(target.address)"))
    broker.advance(60_000)
    #expect(record.errors.isEmpty && broker.clients.count == 2)
    _ = listener.close()
  }

  @Test("an attempt to reach a lost broker ends after five seconds, and another follows")
  func patience() throws {
    let listener = try gateway()
    let session = try user()
    let record = try ChannelRecord.add(to: open(session))
    broker.logsIn = false
    broker.restart()
    broker.advance(1000)
    #expect(broker.clients.count == 2)
    let count = broker.attempts.filter { $0.limit == .seconds(5) }.count
    broker.advance(4300)
    #expect(broker.attempts.filter { $0.limit == .seconds(5) }.count == count && record.errors.isEmpty)
    broker.advance(1500)
    #expect(broker.attempts.filter { $0.limit == .seconds(5) }.count == count + 1)
    #expect(broker.clients.count == 2)
    _ = listener.close()
  }

  @Test("a gateway has ten seconds to follow its user to a broker that was restarted")
  func returnLimit() throws {
    let listener = try gateway()
    let record = try ChannelRecord.add(to: open(user()))
    // The gateway cannot come back, because the broker forbids its topic.
    broker.deniedTopics = { $0.hasSuffix("/+/up") }
    broker.restart()
    broker.advance(9900)
    #expect(record.errors.isEmpty && !record.isEnded)
    broker.advance(600)
    #expect(record.errors.first?.contains("has left the broker") == true && record.errors.count == 1)
    #expect(listener.unavailableReason?.contains("does not let this end read t/s/+/up") == true)
    _ = listener.close()
  }

  @Test("a session whose broker stays away ends, and its user does not try any more")
  func gone() throws {
    let listener = try gateway()
    let record = try ChannelRecord.add(to: open(user()))
    broker.restart(isUp: false)
    broker.advance(120_000)
    #expect(record.isEnded && record.errors.first?.contains("out of reach for too long") == true, "\(record.errors)")
    _ = listener.close()
    broker.advance(5000)
    let count = broker.attempts.count
    broker.advance(60_000)
    #expect(broker.attempts.count == count)
  }

  @Test("a session leaves at most 256 KiB in a broker, and adds little to its bytes")
  func window() throws {
    let listener = try gateway()
    let session = try user()
    let channel = try open(session)
    let before = broker.published.count
    let written = Outcome(channel.writeAndFlush(ByteBuffer(repeating: 7, count: 1 << 20)))
    broker.advance(2000)
    // The owner of the other end does not read.
    let sent = broker.published.dropFirst(before).filter { $0.topic.hasSuffix("/up") }
    let count = sent.reduce(0) { $0 + $1.payload.count }
    #expect(written.result == nil && count > 256 << 10 && count < 272 << 10, "\(count)")
    #expect(sent.allSatisfy { $0.payload.count <= 64 << 10 })
    // TCP detects damaged bytes, so frames are large and need no correction.
    #expect(SessionLayer.configuration.largestPayload == 8192 && SessionLayer.configuration.correction == 0)
    _ = listener.close()
    listener.queue.close()
    broker.advance(120_000)
  }
}
