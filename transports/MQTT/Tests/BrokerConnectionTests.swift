import Byway
import NIOCore
import NIOEmbedded
import Testing

@testable import MQTTTransport

/// Tests connections to a broker, and the messages of a session over them, in virtual time.
@Suite("A connection to a broker in virtual time") struct BrokerConnectionTests {
  private let broker = VirtualBroker()

  private final class Owner {
    var received: [[UInt8]] = []
    var ends: [BrokerEnd] = []
  }

  private func connection(_ owner: Owner) -> BrokerConnection {
    BrokerConnection(
      on: broker.loop, over: broker.access, received: { owner.received.append($0.payload) },
      ended: { owner.ends.append($0) })
  }

  private func open(_ connection: BrokerConnection, seconds: Int64 = 10) -> Outcome<Void> {
    let settings = BrokerSettings(host: "127.0.0.1", port: 1, clientID: "c")
    let outcome = Outcome(connection.open(settings, by: broker.loop.now + .seconds(seconds)))
    broker.advance()
    return outcome
  }

  @Test("a connection stays open after the deadline for opening it, and reports its end once")
  func opens() {
    let owner = Owner()
    let connection = connection(owner)
    #expect(open(connection).value != nil && connection.isOpen && broker.attempts.first?.limit == .seconds(10))
    broker.advance(60_000)
    #expect(connection.isOpen && owner.ends.isEmpty)
    broker.restart()
    #expect(!connection.isOpen && owner.ends == [.lost("gone")])
  }

  @Test("a broker that does not answer the login in time is left")
  func silent() {
    broker.logsIn = false
    let owner = Owner()
    let outcome = open(connection(owner))
    broker.advance(9999)
    #expect(outcome.result == nil && broker.clients.count == 1)
    broker.advance(1)
    #expect(outcome.failure as? BrokerEnd == .silent && broker.clients.isEmpty && owner.ends.isEmpty)
  }

  @Test("a broker that is not there ends the attempt, and a deadline in the past leaves a moment")
  func unreachable() {
    broker.isUp = false
    let connection = connection(Owner())
    #expect(open(connection).failure is IOError && broker.clients.isEmpty)
    _ = open(self.connection(Owner()), seconds: -1)
    #expect(broker.attempts.last?.limit == .milliseconds(1))
  }

  @Test("a connection that its owner closes leaves the broker, is no failure, and delivers nothing more")
  func closes() {
    let owner = Owner()
    let connection = connection(owner)
    _ = open(connection)
    _ = Outcome(connection.subscribe(to: "a", takesRetained: false))
    broker.advance()
    broker.publish([1], to: "a")
    broker.advance()
    #expect(owner.received == [[1]] && broker.clients.first?.handledCost == 258)
    broker.publish([2], to: "a")
    connection.close()
    broker.advance()
    #expect(owner.received == [[1]] && owner.ends.isEmpty && broker.clients.isEmpty && connection.client == nil)
    let late = Outcome(connection.publish(ByteBuffer(bytes: [3]), to: "a"))
    #expect(late.failure as? BrokerEnd == .closed)
  }

  @Test("an attempt that its owner gives up fails, before and during the login", arguments: [true, false])
  func givesUp(_ logsIn: Bool) {
    broker.logsIn = false
    let connection = connection(Owner())
    let settings = BrokerSettings(host: "127.0.0.1", port: 1, clientID: "c")
    let outcome = Outcome(connection.open(settings, by: .distantFuture))
    if logsIn { broker.advance() }
    connection.close()
    broker.advance()
    #expect(outcome.failure as? BrokerEnd == .closed && broker.clients.isEmpty && !connection.isOpen)
  }

  @Test("nothing keeps a connection that has ended", arguments: [true, false])
  func released(_ isClosed: Bool) {
    weak var weakOwner: Owner?
    weak var weakConnection: BrokerConnection?
    do {
      let owner = Owner()
      let connection = connection(owner)
      (weakOwner, weakConnection) = (owner, connection)
      _ = open(connection)
      if isClosed { connection.close() } else { broker.restart() }
      broker.advance()
    }
    broker.advance(60_000)
    #expect(weakConnection == nil && weakOwner == nil)
  }

  // MARK: The messages of a session

  @Test("the bytes of a session are cut into messages that the broker takes, and wait for it")
  func messages() throws {
    broker.messageLimit = 1000
    broker.silentTopics = { $0 == "up" }
    let connection = connection(Owner())
    _ = open(connection)
    let medium = SessionMedium.channel(over: connection, sendingTo: "up")
    medium.activate()
    #expect(medium.isWritable && medium.room == 1000)
    let written = Outcome(medium.writeAndFlush(ByteBuffer(repeating: 7, count: 600)))
    broker.advance()
    #expect(medium.isWritable && medium.room == 400 && written.result == nil)
    let rest = Outcome(medium.writeAndFlush(ByteBuffer(repeating: 8, count: 1900)))
    broker.advance()
    #expect(!medium.isWritable && medium.room == 0 && broker.published.isEmpty)
    broker.clients.first?.answer()
    broker.advance()
    #expect(written.value != nil && rest.value != nil && medium.isWritable && medium.room == 1000)
    broker.silentTopics = { _ in false }
    medium.writeAndFlush(ByteBuffer(bytes: (0..<2500).map { UInt8(truncatingIfNeeded: $0 / 10) }), promise: nil)
    broker.advance()
    #expect(broker.published.map(\.payload.count) == [1000, 1000, 500])
    #expect(broker.published.flatMap(\.payload) == (0..<2500).map { UInt8(truncatingIfNeeded: $0 / 10) })
    #expect(broker.published.allSatisfy { $0.topic == "up" && !$0.isRetained })
    connection.close()
    // A message that is lost counts as sent: the line layer repeats it.
    let lost = Outcome(medium.writeAndFlush(ByteBuffer(bytes: [1])))
    broker.advance()
    #expect(lost.value != nil && medium.room == 1000)
    medium.close(promise: nil)
    broker.advance()
    #expect(!medium.isActive)
  }

  @Test("a wait for an answer ends at its deadline, and in time with the answer")
  func deadlines() {
    for answersAt in [999, 1001] as [Int64] {
      let promise = broker.loop.makePromise(of: Int.self)
      let outcome = Outcome(
        promise.futureResult.failing(with: BrokerEnd.silent, at: broker.loop.now + .seconds(1)))
      let settled = Outcome(promise.futureResult.map { _ in }.settled(within: .seconds(1)))
      broker.advance(min(answersAt, 1000))
      let isLate = answersAt > 1000
      #expect((outcome.failure as? BrokerEnd == .silent) == isLate && (settled.value != nil) == isLate)
      promise.succeed(7)
      broker.advance()
      #expect(outcome.value == (isLate ? nil : 7) && settled.value != nil)
    }
    let failed = Outcome(broker.loop.makeFailedFuture(BrokerEnd.closed).settled(within: .seconds(1)))
    #expect(failed.value != nil)
  }
}
