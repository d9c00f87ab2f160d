import Byway
import BywayLibC
import NIOCore
import NIOPosix
import Synchronization
import TestTools
import Testing

@testable import MQTTTransport

/// Tests the packets of a connection to a broker, with a server that answers with any bytes.
@Suite("The packets of a connection to a broker", .timeLimit(.minutes(1))) struct BrokerThreadTests {
  private typealias Packet = ScriptedBroker.Packet

  /// The reports of a thread.
  private final class Reports: Sendable {
    struct State {
      var limit: Int?
      var messages: [BrokerMessage] = []
      var ends: [BrokerEnd] = []
      var blocksSignals = false
    }

    private let state = Mutex(State())

    var limit: Int? { state.withLock(\.limit) }
    var messages: [BrokerMessage] { state.withLock(\.messages) }
    var ends: [BrokerEnd] { state.withLock(\.ends) }
    var blocksSignals: Bool { state.withLock(\.blocksSignals) }

    var handlers: BrokerThread.Handlers {
      BrokerThread.Handlers(
        opened: { [self] limit in
          var signals = sigset_t()
          pthread_sigmask(SIG_BLOCK, nil, &signals)
          let blocksSignals = [SIGTERM, SIGINT, SIGHUP, SIGPIPE].allSatisfy { sigismember(&signals, $0) == 1 }
          state.withLock { ($0.limit, $0.blocksSignals) = (limit, blocksSignals) }
        },
        received: { [self] message in state.withLock { $0.messages.append(message) } },
        ended: { [self] end in state.withLock { $0.ends.append(end) } })
    }

    func opened() async throws { #expect(try await eventually { limit != nil }) }

    func end() async throws -> BrokerEnd? {
      #expect(try await eventually { !ends.isEmpty })
      return ends.first
    }
  }

  private static let accepted = Packet.bytes(0x20, [0, 0, 0])

  /// Accepts a client, and acknowledges what it sends with this code.
  private static func acknowledge(_ packet: Packet, _ code: UInt8 = 0) -> [UInt8] {
    switch packet.head & 0xF0 {
    case 0x10: accepted
    case 0x80: Packet.bytes(0x90, packet.number + [0, code])
    case 0x30 where packet.head & 0x06 != 0: Packet.bytes(0x40, packet.number + [code, 0])
    default: []
    }
  }

  private func settings(_ broker: ScriptedBroker) -> BrokerSettings {
    BrokerSettings(host: "127.0.0.1", port: broker.port, clientID: "byway-client")
  }

  /// Executes a command with a promise.
  private func execute(
    _ thread: BrokerThread, _ command: (EventLoopPromise<Void>) -> BrokerThread.Command
  ) -> EventLoopFuture<Void> {
    let promise = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: Void.self)
    thread.execute(command(promise))
    return promise.futureResult
  }

  private func publish(
    _ thread: BrokerThread, _ payload: [UInt8], to topic: String = "a/b", _ delivery: BrokerThread.Delivery
  ) -> EventLoopFuture<Void> {
    execute(thread) { .publish(topic: topic, payload: ByteBuffer(bytes: payload), delivery, $0) }
  }

  private func end(of future: EventLoopFuture<Void>) async -> BrokerEnd? {
    do {
      try await future.get()
      return nil
    } catch {
      return error as? BrokerEnd
    }
  }

  private static func text(_ string: String) -> [UInt8] { [0, UInt8(string.utf8.count)] + Array(string.utf8) }

  @Test("logs in with its will, its keep-alive and its limit of packets, and takes the broker's limit")
  func connects() async throws {
    let broker = try await ScriptedBroker { _ in Packet.bytes(0x20, [0, 0, 5, 0x27, 0, 0, 0x07, 0xD0]) }
    var settings = settings(broker)
    (settings.user, settings.password) = ("me", "secret")
    settings.will = BrokerSettings.Will(topic: "a/gateway", payload: [1, 2])
    let reports = Reports()
    let thread = try BrokerThread.start(settings, reports.handlers)
    try await reports.opened()
    #expect(reports.limit == 1700 && reports.blocksSignals)
    let connect = try #require(broker.packets.first)
    // MQTT 5 with user, password, a retained will with QoS 1, and a new session; 20 s; the most bytes of a packet.
    #expect(connect.head == 0x10)
    #expect(
      connect.body.starts(with: Self.text("MQTT") + [5, 0xEE, 0, 20]), "\(connect.body.prefix(12))")
    let properties = connect.body.dropFirst(11).prefix(Int(connect.body[10]))
    #expect(properties.indices.contains { properties[$0...].starts(with: [0x27, 0, 1, 4, 0]) }, "\(properties)")
    #expect(
      Array(connect.body.dropFirst(11 + properties.count))
        == Self.text("byway-client") + [0] + Self.text("a/gateway") + [0, 2, 1, 2] + Self.text("me")
        + Self.text("secret"))
    thread.execute(.close)
    #expect(try await reports.end() == .closed)
    try await broker.stop()
  }

  @Test("sends messages and subscriptions with their quality, and ends with DISCONNECT")
  func sends() async throws {
    let broker = try await ScriptedBroker { Self.acknowledge($0) }
    let reports = Reports()
    let thread = try BrokerThread.start(settings(broker), reports.handlers)
    try await reports.opened()
    try await publish(thread, [1], .unacknowledged).get()
    try await publish(thread, [2], .acknowledged(isRetained: false)).get()
    try await publish(thread, [], .acknowledged(isRetained: true)).get()
    try await execute(thread) { .subscribe(topic: "c", takesRetained: true, $0) }.get()
    try await execute(thread) { .subscribe(topic: "d", takesRetained: false, $0) }.get()
    let closing = publish(thread, [3], .unacknowledged)
    thread.execute(.close)
    #expect(try await reports.end() == .closed)
    // A command that comes before the end is executed, and one that comes later fails.
    #expect(await end(of: closing) == nil)
    #expect(await end(of: publish(thread, [4], .unacknowledged)) == .closed)
    #expect(await end(of: execute(thread) { .subscribe(topic: "c", takesRetained: true, $0) }) == .closed)
    #expect(try await eventually { broker.isEnded })
    let packets = broker.packets.dropFirst()
    #expect(packets.map(\.head) == [0x30, 0x32, 0x33, 0x82, 0x82, 0x30, 0xE0], "\(packets)")
    #expect(packets.first?.body == Self.text("a/b") + [0, 1])
    // The options of a subscription: QoS 0, with the messages that the broker has kept, or without.
    #expect(packets.dropFirst(3).prefix(2).map(\.body.last) == [0x00, 0x20])
    #expect(packets.last?.body.first ?? 0 == 0 && reports.ends.count == 1)
    try await broker.stop()
  }

  @Test(
    "a refusal of the broker is told from an acknowledgement",
    arguments: [(0x00, false), (0x10, false), (0x80, true), (0x87, true)] as [(UInt8, Bool)])
  func refusals(_ code: UInt8, _ isRefused: Bool) async throws {
    let broker = try await ScriptedBroker { Self.acknowledge($0, $0.head & 0xF0 == 0x80 && code == 0x10 ? 1 : code) }
    let reports = Reports()
    let thread = try BrokerThread.start(settings(broker), reports.handlers)
    try await reports.opened()
    for future in [
      execute(thread) { .subscribe(topic: "c", takesRetained: true, $0) },
      publish(thread, [2], .acknowledged(isRetained: false)),
    ] {
      let end = await end(of: future)
      guard case .denied(let found, let words)? = end else {
        #expect(!isRefused && end == nil)
        continue
      }
      #expect(isRefused && found == Int32(code) && (code != 0x87 || words == "Not authorized"), "\(words)")
    }
    thread.execute(.close)
    _ = try await reports.end()
    try await broker.stop()
  }

  @Test(
    "an end of the connection has its reason, and commands that wait for an answer fail with it",
    arguments: [
      ([0xE0, 2, 0x8E, 0], "dismissed 142 Session taken over"), ([0xE0, 2, 0x80, 0], "dismissed 128"),
      ([0xE0, 0], "lost"), ([0x00, 0x00], "lost"), ([], "lost"),
    ] as [([UInt8], String)])
  func ends(_ bytes: [UInt8], _ words: String) async throws {
    let broker = try await ScriptedBroker { $0.head == 0x10 ? Self.accepted : [] }
    let reports = Reports()
    let thread = try BrokerThread.start(settings(broker), reports.handlers)
    try await reports.opened()
    let waiting = [
      publish(thread, [2], .acknowledged(isRetained: false)),
      execute(thread) { .subscribe(topic: "c", takesRetained: true, $0) },
    ]
    #expect(try await eventually { broker.packets.count == 3 })
    if bytes.isEmpty { broker.cut() } else { broker.send(bytes) }
    let end = try await reports.end()
    let found: String? =
      switch end {
      case .dismissed(let code, let words): "dismissed \(code) \(words)"
      case .lost(let words): "lost \(words)"
      default: nil
      }
    #expect(found?.hasPrefix(words) == true, "\(end as Any)")
    for future in waiting { #expect(await self.end(of: future) == end) }
    #expect(try await eventually { broker.isEnded } && reports.ends.count == 1)
    try await broker.stop()
  }

  @Test("a login that the broker refuses ends the connection with its code", arguments: [0x84, 0x87, 0x88] as [UInt8])
  func refusedLogin(_ code: UInt8) async throws {
    let broker = try await ScriptedBroker { _ in Packet.bytes(0x20, [0, code, 0]) }
    let reports = Reports()
    _ = try BrokerThread.start(settings(broker), reports.handlers)
    guard case .refused(let found, let words)? = try await reports.end() else {
      Issue.record("not refused: \(reports.ends)")
      return
    }
    #expect(found == Int32(code) && !words.isEmpty && reports.limit == nil && reports.ends.count == 1)
    #expect(try await eventually { broker.isEnded })
    try await broker.stop()
  }

  @Test("a connection that is closed before the login ends at once, and its commands fail")
  func closedEarly() async throws {
    let broker = try await ScriptedBroker { _ in [] }
    let reports = Reports()
    let thread = try BrokerThread.start(settings(broker), reports.handlers)
    let early = publish(thread, [1], .unacknowledged)
    #expect(try await eventually { !broker.packets.isEmpty })
    thread.execute(.close)
    #expect(try await reports.end() == .closed)
    #expect(await end(of: early) == .closed)
    #expect(try await eventually { broker.isEnded } && broker.packets.count == 1)
    try await broker.stop()
  }

  @Test("messages keep their mark, and those that are too long are left out")
  func receives() async throws {
    let longest = String(repeating: "t", count: 240)
    let broker = try await ScriptedBroker { Self.acknowledge($0) }
    let reports = Reports()
    let thread = try BrokerThread.start(settings(broker), reports.handlers)
    try await reports.opened()
    for (head, topic, size) in [
      (0x31, "a", 3), (0x30, longest, 0), (0x30, longest + "t", 1), (0x30, "b", 65_536), (0x30, "c", 65_537),
      (0x30, "d", 1),
    ] as [(UInt8, String, Int)] {
      broker.send(
        Packet.bytes(head, Self.text(topic) + [0] + [UInt8](repeating: 7, count: size)))
    }
    #expect(try await eventually { reports.messages.last?.topic == "d" })
    let messages = reports.messages
    #expect(messages.map(\.topic) == ["a", longest, "b", "d"])
    #expect(
      messages.map(\.payload.count) == [3, 0, 65_536, 1] && messages.allSatisfy { $0.payload.allSatisfy { $0 == 7 } })
    #expect(messages.map(\.isRetained) == [true, false, false, false])
    #expect(thread.unreadCost == messages.reduce(0) { $0 + $1.cost })
    for message in messages { thread.handled(message.cost) }
    #expect(thread.unreadCost == 0)
    thread.execute(.close)
    _ = try await reports.end()
    try await broker.stop()
  }

  @Test("a broker that does not answer a PINGREQ of the library is silent")
  func keepAlive() async throws {
    let broker = try await ScriptedBroker { Self.acknowledge($0) }
    var library = try MosquittoLibrary.shared()
    // MOSQ_ERR_KEEPALIVE
    library.keepUp = { _ in 19 }
    let reports = Reports()
    _ = try BrokerThread.start(settings(broker), reports.handlers, with: library)
    #expect(try await reports.end() == .silent)
    try await broker.stop()
  }

  @Test("a broker that takes nothing delays the end by a second, and what it has not taken fails")
  func farewell() async throws {
    let broker = try await ScriptedBroker { $0.head == 0x10 ? Self.accepted : nil }
    let reports = Reports()
    let thread = try BrokerThread.start(settings(broker), reports.handlers)
    try await reports.opened()
    let first = publish(thread, [1], .unacknowledged)
    try await first.get()
    #expect(try await eventually { broker.packets.count == 2 })
    let payload = [UInt8](repeating: 7, count: 60_000)
    let waiting = (0..<300).map { _ in publish(thread, payload, .unacknowledged) }
    let start = ContinuousClock.now
    thread.execute(.close)
    #expect(try await reports.end() == .closed)
    #expect(start.duration(to: .now) >= .milliseconds(900))
    let last = try #require(waiting.last)
    #expect(await end(of: last) == .closed)
    try await broker.stop()
  }
}
