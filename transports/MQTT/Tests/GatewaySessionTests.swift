import Byway
import BywayLineLayer
import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import MQTTTransport

/// Tests one session of a gateway in virtual time.
@Suite("A session of a gateway in virtual time") struct GatewaySessionTests {
  private let broker = VirtualBroker()
  private let target: MQTTTarget

  init() throws {
    target = try MQTTTarget(LinkAddress("mqtt://127.0.0.1/t"))
  }

  private final class Reports {
    let name = SessionName.random()
    var channels: [StreamChannel] = []
    var ended: [SessionName] = []
  }

  private func connection() -> BrokerConnection {
    let connection = BrokerConnection(on: broker.loop, over: broker.access, received: { _ in }, ended: { _ in })
    _ = Outcome(connection.open(BrokerSettings(host: "h", port: 1, clientID: "c"), by: .distantFuture))
    broker.advance()
    return connection
  }

  private func session(_ reports: Reports) -> GatewaySession {
    GatewaySession(
      reports.name, sendingTo: target.topics.down(reports.name), address: target.address, on: broker.loop,
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
      opened: { reports.channels.append($0) }, ended: { reports.ended.append($0) })
  }

  /// Opens a session of a gateway with a line layer as its user.
  private func opened(
    _ session: GatewaySession, _ connection: BrokerConnection, _ dialer: inout LineLayer
  ) {
    session.attach(to: connection)
    dialer.lineRestored(at: broker.loop.now.uptimeNanoseconds)
    dialer.open(session: 7, streams: .none, at: broker.loop.now.uptimeNanoseconds)
    for _ in 0..<4 { exchange(session, &dialer) }
  }

  private func exchange(_ session: GatewaySession, _ dialer: inout LineLayer) {
    var output: [UInt8] = []
    while dialer.nextTransmit(at: broker.loop.now.uptimeNanoseconds, into: &output) {}
    if !output.isEmpty { session.receive(output) }
    let before = broker.published.count
    broker.advance(50)
    for message in broker.published.dropFirst(before) {
      message.payload.withUnsafeBytes { dialer.receive($0, at: broker.loop.now.uptimeNanoseconds) }
    }
    broker.forgetPublished()
    while dialer.nextEvent() != nil {}
  }

  /// Uses a session and its connection, and checks that nothing refers to them two minutes later.
  private func expectNoneLeft(_ reports: Reports, _ use: (GatewaySession, BrokerConnection) throws -> Void) rethrows {
    weak var weakSession: GatewaySession?
    weak var weakConnection: BrokerConnection?
    do {
      let (session, connection) = (session(reports), connection())
      (weakSession, weakConnection) = (session, connection)
      try use(session, connection)
      connection.close()
      broker.advance()
    }
    reports.channels = []
    broker.advance(120_000)
    #expect(weakSession == nil && weakConnection == nil)
  }

  @Test("a session that is dropped is not reported, opens no more, and leaves nothing")
  func drop() {
    let reports = Reports()
    expectNoneLeft(reports) { session, connection in
      session.attach(to: connection)
      session.receive([1, 2, 3])
      broker.advance()
      session.drop()
      broker.advance()
      var dialer = SessionLayer.dialer(at: broker.loop.now)
      opened(session, connection, &dialer)
      #expect(reports.channels.isEmpty && reports.ended.isEmpty && !session.isOpen)
    }
  }

  @Test("a user that falls silent ends the session with an error, and nothing is left of it")
  func silence() throws {
    let reports = Reports()
    try expectNoneLeft(reports) { session, connection in
      var dialer = SessionLayer.dialer(at: broker.loop.now)
      opened(session, connection, &dialer)
      #expect(session.isOpen && reports.channels.count == 1)
      let channel = try #require(reports.channels.first)
      channel.activate()
      let record = try ChannelRecord.add(to: channel)
      broker.advance(180_000)
      #expect(record.errors.count == 1 && record.isEnded && reports.ended == [reports.name])
      #expect(
        record.errors.first?.contains("said nothing for too long: check that it runs and reaches the broker") == true)
    }
  }

  @Test("a session waits while the broker is lost, and continues over another connection")
  func detach() throws {
    let reports = Reports()
    let (session, first) = (session(reports), connection())
    var dialer = SessionLayer.dialer(at: broker.loop.now)
    opened(session, first, &dialer)
    let channel = try #require(reports.channels.first)
    channel.activate()
    let record = try ChannelRecord.add(to: channel)
    #expect(channel.interruption == nil)
    session.detach()
    broker.advance()
    #expect(channel.interruption != nil)
    dialer.lineLost(at: broker.loop.now.uptimeNanoseconds)
    first.close()
    let second = connection()
    session.attach(to: second)
    dialer.lineRestored(at: broker.loop.now.uptimeNanoseconds)
    for _ in 0..<4 { exchange(session, &dialer) }
    [UInt8](repeating: 5, count: 100).withUnsafeBytes { dialer.send($0) }
    for _ in 0..<4 { exchange(session, &dialer) }
    #expect(record.bytes.count == 100 && channel.interruption == nil && record.errors.isEmpty)
    #expect(reports.channels.count == 1 && reports.ended.isEmpty)
    session.drop()
    second.close()
    broker.advance(1000)
  }
}
