import Byway
import NIOCore
import NIOEmbedded
import TestTools
import Testing

@testable import MQTTTransport

/// Tests a gateway's place at a broker in virtual time.
@Suite("A gateway at a broker in virtual time") struct VirtualGatewayTests {
  private let broker = VirtualBroker()
  private let log = LogRecord()
  private let target: MQTTTarget

  init() throws {
    target = try MQTTTarget(LinkAddress("mqtt://127.0.0.1/t"))
  }

  private func gateway(connections: Int = .max) throws -> GatewayListener {
    try GatewayListener(
      target, on: broker.loop, over: broker.access, context: broker.context(log, connections: connections))
  }

  private func start(_ listener: GatewayListener, seconds: Int64 = 10) -> Outcome<Void> {
    let outcome = Outcome(listener.start(by: broker.loop.now + .seconds(seconds)))
    broker.advance()
    return outcome
  }

  private func user() throws -> MQTTClientSession {
    try MQTTClientSession(target, on: broker.loop, over: broker.access, context: broker.context())
  }

  private func open(_ session: MQTTClientSession) -> Outcome<any Channel> {
    let outcome = Outcome(
      session.reach(by: broker.loop.now + .seconds(10)).flatMap { session.open(by: self.broker.loop.now + .seconds(9)) }
    )
    broker.advance(500)
    return outcome
  }

  private var announcements: [Presence] {
    broker.published.filter { $0.topic == target.topics.gateway }.map { Presence($0.payload) }
  }

  private func finish(_ listener: GatewayListener) {
    listener.queue.close()
    _ = Outcome(listener.close())
    broker.advance(10_000)
  }

  // MARK: Announcing

  @Test("announces itself by a retained message, with a will that clears it, and clears it at its end")
  func announces() throws {
    let listener = try gateway()
    #expect(start(listener).value != nil && listener.unavailableReason == nil)
    let client = try #require(broker.clients.first)
    #expect(client.subscriptions == ["t/gateway", "t/s/+/up"])
    #expect(client.settings.will?.topic == "t/gateway" && client.settings.will?.payload == [])
    #expect(client.settings.clientID.hasPrefix("byway-") && client.settings.clientID.utf8.count == 22)
    guard case .present? = announcements.first else {
      Issue.record("no announcement")
      return
    }
    let closed = Outcome(listener.close())
    broker.advance()
    #expect(closed.value != nil && broker.clients.isEmpty)
    #expect(announcements.count == 2 && announcements.last == .absent)
    #expect(broker.published.filter { $0.topic == "t/gateway" }.allSatisfy { $0.isRetained })
    broker.advance(60_000)
    #expect(broker.attempts.count == 1)
    let again = Outcome(listener.close())
    #expect(again.value != nil && announcements.count == 2)
  }

  @Test("a start that fails leaves the broker, and clears only an announcement that it has sent")
  func failedStart() throws {
    // The broker forbids what comes before the announcement, and then leaves the announcement without an answer.
    broker.deniedTopics = { $0.hasSuffix("/+/up") }
    let denied = start(try gateway())
    #expect(denied.error?.message.contains("does not let this end read t/s/+/up") == true)
    #expect(broker.clients.isEmpty && broker.published.isEmpty)
    broker.deniedTopics = { _ in false }
    broker.silentTopics = { $0.hasSuffix("/+/up") }
    let silent = start(try gateway())
    broker.advance(9999)
    #expect(silent.result == nil)
    broker.advance(1)
    #expect(silent.error?.diagnosis?.fault == .noAnswer && broker.clients.isEmpty && broker.published.isEmpty)
    broker.silentTopics = { $0 == "t/gateway" }
    broker.deniedTopics = { _ in false }
    let listener = try gateway()
    let late = Outcome(listener.start(by: broker.loop.now + .seconds(10)))
    broker.advance()
    // The subscription to the announcements may be refused.
    broker.clients.first?.answer()
    broker.advance(9000)
    broker.silentTopics = { _ in false }
    #expect(late.result == nil && announcements.isEmpty)
    broker.advance(1000)
    #expect(late.error?.diagnosis?.fault == .noAnswer && broker.clients.isEmpty && announcements == [.absent])
  }

  @Test("a forbidden announcement ends the start, and a forbidden look at others does not")
  func forbidden() throws {
    broker.deniedTopics = { $0 == "t/gateway" }
    let outcome = start(try gateway())
    #expect(outcome.error?.message.contains("does not let this end write t/gateway") == true && broker.clients.isEmpty)
  }

  @Test("repeats its announcement a second after another program has replaced it, once")
  func repeats() throws {
    let listener = try gateway()
    _ = start(listener)
    let first = announcements
    for _ in 0..<3 { broker.publish([9], to: "t/gateway", isRetained: true) }
    broker.advance(999)
    #expect(announcements.count == 4)
    broker.advance(1)
    #expect(announcements.count == 5 && announcements.last == first.last)
    broker.advance(5000)
    #expect(announcements.count == 5)
    // And the next time, too.
    broker.publish([], to: "t/gateway", isRetained: true)
    broker.advance(1000)
    #expect(announcements.count == 7 && announcements.last == first.last)
    finish(listener)
  }

  @Test("an announcement is not repeated after the end, or while the broker is lost", arguments: [true, false])
  func repeatsNoMore(_ isClosed: Bool) throws {
    let listener = try gateway()
    _ = start(listener)
    broker.publish([9], to: "t/gateway", isRetained: true)
    broker.advance(500)
    if isClosed { _ = Outcome(listener.close()) } else { broker.restart(isUp: false) }
    broker.advance(3000)
    #expect(announcements.count == (isClosed ? 3 : 2) && announcements.last == (isClosed ? .absent : .foreign))
    finish(listener)
  }

  @Test("a warning of another gateway comes at most every ten seconds, with the number of announcements")
  func rivals() throws {
    let listener = try gateway()
    _ = start(listener)
    for _ in 0..<3 { broker.publish(Presence.present(.random()).payload, to: "t/gateway") }
    broker.advance(9999)
    func warnings() -> [String] { log.all.filter { $0.hasPrefix("warning") } }
    let words =
      "warning Another gateway announces itself at the same topic: stop one of them link=\(target.address) times="
    #expect(warnings() == ["\(words)1"])
    broker.advance(1)
    broker.publish(Presence.present(.random()).payload, to: "t/gateway")
    broker.advance()
    #expect(warnings() == ["\(words)1", "\(words)3"])
    #expect(announcements.filter { if case .present = $0 { true } else { false } }.count == 5)
    finish(listener)
  }

  // MARK: Another gateway

  @Test("an announcement of a gateway that does not answer within a second is replaced, and one's own is no rival")
  func staleRival() throws {
    broker.publish(Presence.present(.random()).payload, to: "t/gateway", isRetained: true)
    let listener = try gateway()
    let outcome = start(listener)
    let question = try #require(broker.published.last)
    #expect(question.topic.hasSuffix("/up") && !question.payload.isEmpty && !question.isRetained)
    broker.advance(999)
    #expect(outcome.result == nil && announcements.count == 1)
    broker.advance(1)
    #expect(outcome.value != nil && announcements.count == 2)
    // A broker that was restarted has forgotten the announcement: nothing is asked.
    let count = broker.published.count
    broker.restart()
    broker.advance(300)
    #expect(broker.clients.count == 1 && broker.published.count == count + 1)
    // Neither is it if the broker still has this gateway's own.
    broker.loseWithoutWill(try #require(broker.clients.first))
    broker.advance(300)
    #expect(broker.clients.count == 1 && broker.published.count == count + 2)
    finish(listener)
  }

  @Test("a gateway that answers keeps its topic, and the other one says so", arguments: [true, false])
  func rival(_ isFirstStart: Bool) throws {
    let rival = try gateway()
    let listener = try gateway()
    if isFirstStart {
      _ = start(rival)
      let outcome = start(listener)
      broker.advance(500)
      #expect(outcome.error?.diagnosis?.fault == .inUse && broker.clients.count == 1)
    } else {
      _ = start(listener)
      broker.restart(isUp: false)
      broker.isUp = true
      // The other one is faster.
      _ = start(rival)
      broker.advance(1500)
      #expect(listener.unavailableReason?.contains("Another gateway is at the topic t of 127.0.0.1:1883") == true)
      #expect(broker.clients.count == 1 || listener.pause != ReconnectPause())
    }
    #expect(announcements.last.map { $0 == announcements[isFirstStart ? 0 : 1] } == true)
    finish(listener)
    finish(rival)
  }

  // MARK: The broker

  @Test("waits for a broker that is not there, tries again, and serves when it is")
  func waits() throws {
    broker.isUp = false
    let listener = try gateway()
    let error = try #require(start(listener).error)
    listener.wait(for: error)
    #expect(
      log.all.contains {
        $0.hasPrefix(
          "warning The broker is not reached; the gateway waits for it link=\(target.address) reason=Nothing listens")
      })
    broker.advance(10_000)
    #expect(listener.unavailableReason?.contains("Nothing listens") == true && listener.pause != ReconnectPause())
    #expect((6...12).contains(broker.attempts.count) && broker.attempts.last?.limit == .seconds(10))
    #expect(log.all.contains { $0.hasPrefix("debug The broker is not reached link=\(target.address) reason=Nothing") })
    broker.isUp = true
    broker.advance(2000)
    #expect(listener.unavailableReason == nil && listener.pause == ReconnectPause() && announcements.count == 1)
    #expect(log.all.contains("notice The broker is reached again link=\(target.address)"))
    finish(listener)
  }

  @Test("a broker that is lost is said, and its gateway announces itself again")
  func lost() throws {
    let listener = try gateway()
    _ = start(listener)
    let session = try user()
    let channel = try #require(open(session).value)
    let record = try ChannelRecord.add(to: channel)
    broker.restart(isUp: false)
    #expect(
      log.all.contains {
        $0.hasPrefix(
          "notice The broker is lost; the sessions wait for it link=\(target.address) reason=The broker 127.0.0.1")
      })
    #expect(log.all.contains { $0.hasPrefix("notice Line lost; the session waits for it") })
    #expect(listener.unavailableReason?.contains("ended the connection (gone)") == true)
    broker.advance(1000)
    broker.isUp = true
    broker.advance(3000)
    #expect(listener.unavailableReason == nil && announcements.count == 2 && announcements[0] == announcements[1])
    let before = broker.published.count
    channel.writeAndFlush(ByteBuffer(bytes: [1, 2, 3]), promise: nil)
    broker.advance(500)
    // The session goes on: the gateway acknowledges.
    #expect(broker.published.dropFirst(before).contains { $0.topic.hasSuffix("/down") } && record.errors.isEmpty)
    finish(listener)
  }

  @Test(
    "a gateway that is closed while its broker is lost, or while it connects, ends at once", arguments: [true, false])
  func closedWhileLost(_ connects: Bool) throws {
    let listener = try gateway()
    _ = start(listener)
    broker.logsIn = false
    broker.restart(isUp: connects)
    broker.advance(connects ? 250 : 50)
    #expect(broker.clients.count == (connects ? 1 : 0))
    let closed = Outcome(listener.close())
    broker.advance()
    #expect(closed.value != nil && broker.clients.isEmpty)
    let count = broker.attempts.count
    broker.isUp = true
    broker.advance(60_000)
    #expect(broker.attempts.count == count)
  }

  @Test("a broker that does not take the last message delays the end for two seconds")
  func farewell() throws {
    let listener = try gateway()
    _ = start(listener)
    broker.silentTopics = { $0 == "t/gateway" }
    let closed = Outcome(listener.close())
    broker.advance(1999)
    #expect(closed.result == nil && broker.clients.count == 1)
    broker.advance(1)
    #expect(closed.value != nil && broker.clients.isEmpty)
  }

  // MARK: Sessions

  @Test("a session that has not opened does not keep a gateway that is stopped")
  func unopened() throws {
    let listener = try gateway()
    _ = start(listener)
    broker.publish([1, 2, 3], to: target.topics.up(.random()))
    broker.advance()
    let closed = Outcome(listener.close())
    broker.advance()
    #expect(closed.value != nil && announcements.last == .absent && broker.clients.isEmpty)
  }

  @Test("an open session keeps a gateway that is stopped, which accepts no others")
  func leaving() throws {
    let listener = try gateway()
    _ = start(listener)
    let channel = try #require(open(try user()).value)
    let closed = Outcome(listener.close())
    broker.advance()
    guard case .leaving? = announcements.last else {
      Issue.record("not leaving: \(announcements)")
      return
    }
    #expect(closed.value != nil && broker.clients.count == 2)
    let other = SessionName.random()
    let count = broker.published.count
    broker.publish([1, 2, 3], to: target.topics.up(other))
    broker.advance(1000)
    #expect(!broker.published.dropFirst(count).contains { $0.topic == target.topics.down(other) })
    channel.close(promise: nil)
    listener.queue.close()
    broker.advance(1000)
    #expect(announcements.last == .absent && broker.clients.isEmpty)
  }

  @Test("as many sessions as the limit of openings open at once, one after the other even more")
  func manyOpen() throws {
    let listener = try gateway()
    _ = start(listener)
    let sessions = try (0..<70).map { _ in try user() }
    var opened: [Outcome<any Channel>] = []
    for session in sessions {
      let deadline = broker.loop.now + .seconds(9)
      opened.append(Outcome(session.reach(by: deadline).flatMap { session.open(by: deadline) }))
      broker.advance(1)
    }
    #expect(opened.allSatisfy { $0.value != nil })
    #expect(!log.all.contains { $0.contains("A session was refused") })
    finish(listener)
  }

  @Test("sessions that do not open end after ten seconds, and a flood of them is refused with one line of the log")
  func openings() throws {
    let listener = try gateway()
    _ = start(listener)
    let names = (0..<66).map { _ in SessionName.random() }
    for name in names { broker.publish([1, 2, 3], to: target.topics.up(name)) }
    broker.advance()
    let refusals = { [log] in log.all.filter { $0.contains("A session was refused") } }
    let words = "warning A session was refused link=\(target.address) reason=too many sessions begin at once times="
    #expect(refusals() == ["\(words)1"])
    broker.advance(9999)
    broker.publish([1, 2, 3], to: target.topics.up(names[65]))
    #expect(refusals().count == 1)
    broker.advance(1)
    // The one that has begun since then is left.
    #expect(listener.openings.count == 1)
    // There is room again, and the log has another line for the flood that follows.
    for _ in 0..<66 { broker.publish([1, 2, 3], to: target.topics.up(.random())) }
    broker.advance()
    #expect(refusals().count == 2 && refusals().last == "\(words)2", "\(refusals())")
    finish(listener)
  }

  @Test("a gateway at its limit of connections refuses a session, and has room when one has ended")
  func full() throws {
    let listener = try gateway(connections: 1)
    _ = start(listener)
    let first = try #require(open(try user()).value)
    let second = open(try user())
    broker.advance(9000)
    #expect(second.error?.diagnosis?.fault == .noAnswer)
    #expect(log.all.contains { $0.contains("reason=the limit of connections is reached times=1") })
    first.close(promise: nil)
    listener.queue.close()
    broker.advance(1000)
    // The queue is closed, so the third session ends at once, but it opens.
    #expect(open(try user()).value != nil)
    finish(listener)
  }

  @Test("messages that are retained, empty, or on other topics begin no session")
  func ignored() throws {
    let listener = try gateway()
    let name = SessionName.random()
    broker.publish([1], to: target.topics.up(name), isRetained: true)
    _ = start(listener)
    let count = broker.published.count
    broker.clients.first?.handlers?.received(
      BrokerMessage(topic: target.topics.up(name), payload: [1, 2], isRetained: true))
    broker.publish([], to: target.topics.up(name))
    broker.publish([1, 2], to: "t/s/other/up")
    broker.advance(1000)
    #expect(broker.published.count == count + 2)
    finish(listener)
  }
}
