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
  private let address: LinkAddress
  private let target: MQTTTarget

  init() throws {
    address = try LinkAddress("mqtt://127.0.0.1/t")
    target = try MQTTTarget(address)
  }

  private final class Reports {
    var channels: [StreamChannel] = []
    var ended: [SessionName] = []
  }

  private func connection() -> BrokerConnection {
    let connection = BrokerConnection(on: broker.loop, over: broker.access, received: { _ in }, ended: { _ in })
    _ = Outcome(connection.open(BrokerSettings(host: "h", port: 1, clientID: "c"), by: .distantFuture))
    broker.advance()
    return connection
  }

  private func session(_ name: SessionName, _ reports: Reports) -> GatewaySession {
    GatewaySession(
      name, sendingTo: target.topics.down(name), address: address, on: broker.loop,
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

  @Test("a session that is dropped is not reported, opens no more, and leaves nothing")
  func drop() {
    let (name, reports) = (SessionName.random(), Reports())
    weak var weakSession: GatewaySession?
    weak var weakConnection: BrokerConnection?
    do {
      let (session, connection) = (session(name, reports), connection())
      (weakSession, weakConnection) = (session, connection)
      session.attach(to: connection)
      session.receive([1, 2, 3])
      broker.advance()
      session.drop()
      broker.advance()
      var dialer = SessionLayer.dialer(at: broker.loop.now)
      opened(session, connection, &dialer)
      #expect(reports.channels.isEmpty && reports.ended.isEmpty && !session.isOpen)
      connection.close()
      broker.advance()
    }
    broker.advance(120_000)
    #expect(weakSession == nil && weakConnection == nil)
  }

  @Test("a user that falls silent ends the session with an error, and nothing is left of it")
  func silence() throws {
    let (name, reports) = (SessionName.random(), Reports())
    weak var weakSession: GatewaySession?
    weak var weakConnection: BrokerConnection?
    do {
      let (session, connection) = (session(name, reports), connection())
      (weakSession, weakConnection) = (session, connection)
      var dialer = SessionLayer.dialer(at: broker.loop.now)
      opened(session, connection, &dialer)
      #expect(session.isOpen && reports.channels.count == 1)
      let channel = try #require(reports.channels.first)
      channel.activate()
      let record = try ChannelRecord.add(to: channel)
      broker.advance(180_000)
      #expect(record.errors.count == 1 && record.isEnded && reports.ended == [name])
      #expect(
        record.errors.first?.contains("said nothing for too long: check that it runs and reaches the broker") == true)
      connection.close()
      broker.advance()
    }
    reports.channels = []
    broker.advance(120_000)
    #expect(weakSession == nil && weakConnection == nil)
  }

  @Test("a session waits while the broker is lost, and continues over another connection")
  func detach() throws {
    let (name, reports) = (SessionName.random(), Reports())
    let (session, first) = (session(name, reports), connection())
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
