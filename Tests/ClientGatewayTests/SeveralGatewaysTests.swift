import BywayDevices
import BywayGateway
import HTTPTypes
import LoopbackTransport
import NIOCore
import NIOPosix
import Synchronization
import TestTools
import Testing
import TransportTestSupport

@testable import Byway

/// Several gateways that dial one link.
@Suite("Several gateways on one link", .timeLimit(.minutes(1))) struct SeveralGatewaysTests {
  private let address = "loopback:several-\(UInt64.random(in: 0 ... .max))"
  private let transports = TransportRegistry([LoopbackTransport()])
  private let record = LogRecord()
  private let gatewayRecord = LogRecord()
  private let arrivals = Arrivals()

  private final class Arrivals: Sendable {
    private let number = Mutex(0)

    var count: Int { number.withLock(\.self) }
    func add() { number.withLock { $0 += 1 } }
  }

  /// - Parameter serves: the text that its origin responds with.
  private func gateway(_ serves: String, named name: String? = nil) async throws -> Gateway {
    var configuration = GatewayConfiguration(
      links: [try transports.link("\(address)?open=dial")],
      origin: .handler { [arrivals] request in
        // Ten requests at once, as the load decides where each goes.
        if request.head.path == "/together" {
          arrivals.add()
          _ = try await eventually { arrivals.count % 10 == 0 }
        }
        return Response(status: .ok, body: Body(serves))
      })
    configuration.claim = name.map { DeviceClaim(name: DeviceName($0)) }
    configuration.logger = gatewayRecord.logger
    return try await Gateway.start(configuration)
  }

  private func client() throws -> BywayClient {
    var configuration = BywayClient.Configuration.defaults
    configuration.logger = record.logger
    return BywayClient(try transports.link("\(address)?open=listen"), configuration: configuration)
  }

  private func answer(_ client: BywayClient) async throws -> String {
    String(buffer: try await client.get("http://device/").body.collect(upTo: 100))
  }

  /// Dials and sends nothing. A listener opens on its own event loop, so it may not be ready at once.
  private func knock() async throws -> any Channel {
    let link = try transports.link(address)
    var channel: (any Channel)?
    _ = try await eventually {
      channel = try? await link.transport.connect(to: link.address, context: .test())
      return channel != nil
    }
    return try #require(channel, "no listener on \(address)")
  }

  @Test("the newer gateway serves, which is logged once, and the older one takes over when it leaves")
  func newer() async throws {
    let client = try client()
    let first = try await gateway("first")
    try await #expect(answer(client) == "first")
    let second = try await gateway("second")
    #expect(try await eventually { try await answer(client) == "second" })
    #expect(record.all.count { $0.contains("Another gateway has dialed") } == 1, "\(record.all)")
    for _ in 0..<20 { try await #expect(answer(client) == "second") }
    await second.stop(within: .zero)
    try await #expect(answer(client) == "first")
    await first.stop(within: .zero)
    let third = try await gateway("third")
    try await #expect(answer(client) == "third")
    await client.shutDown()
    await third.stop(within: .zero)
  }

  @Test("an unknown peer that dials and sends nothing has no effect")
  func unknownPeer() async throws {
    let client = try client()
    let gateway = try await gateway("first")
    try await #expect(answer(client) == "first")
    let unknownPeer = try await knock()
    for _ in 0..<20 { try await #expect(answer(client) == "first") }
    try? await unknownPeer.close()
    let second = try await self.gateway("second")
    #expect(try await eventually { try await answer(client) == "second" })
    await client.shutDown()
    await gateway.stop(within: .zero)
    await second.stop(within: .zero)
  }

  // MARK: Gateways by name

  /// A hub and the upstreams of its devices. `@unchecked Sendable`: used on the event loop only.
  private final class House: @unchecked Sendable {
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    private var upstreams: [String: HTTP2Upstream] = [:]
    private var hub: InboundHub?
    private let record: LogRecord

    init(
      _ link: Link, _ names: [String], _ sharing: GatewaySharing, mostCandidates: Int, _ record: LogRecord
    ) async throws {
      self.record = record
      try await eventLoop.submit { [self] in
        var upstreams: [String: HTTP2Upstream] = [:]
        for name in names {
          upstreams[name] = .ofGateways(
            named: name, on: eventLoop, hop: nil, patience: .seconds(20), liveness: .ofServer, sharing: sharing,
            siblings: nil, logger: record.logger)
        }
        self.upstreams = upstreams
        hub = InboundHub(
          link, on: eventLoop, hop: nil, liveness: .ofServer, siblings: nil, mostCandidates: mostCandidates,
          logger: record.logger, board: { _, _, _ throws(HubRefusal) in throw .closing }
        ) { [upstreams] name, _, _ throws(HubRefusal) in
          guard let upstream = upstreams[name.text] else { throw .configured(name) }
          return upstream
        }
        hub?.start()
      }.get()
    }

    func get(_ name: String, _ path: String = "/") async throws -> String {
      let upstream = try #require(upstreams[name])
      let response = try await ExchangeClient(upstream, on: LoopExecutor(eventLoop)).send(
        Request(url: "http://\(name)\(path)", timeout: .seconds(20)))
      return String(buffer: try await response.body.collect(upTo: 100))
    }

    func stop() async throws {
      try await eventLoop.submit { [self] in
        hub?.shutDown()
        for upstream in upstreams.values { upstream.shutDown() }
      }.get()
    }
  }

  private func house(
    _ names: String..., sharing: GatewaySharing = .newest, mostCandidates: Int = InboundHub.usualCandidates
  ) async throws -> House {
    try await House(transports.link(address), names, sharing, mostCandidates: mostCandidates, record)
  }

  @Test("each gateway gets the requests for its own name")
  func named() async throws {
    let house = try await house("printer", "camera")
    let printer = try await gateway("the printer", named: "printer")
    let camera = try await gateway("the camera", named: "camera")
    for _ in 0..<3 {
      try await #expect(house.get("printer") == "the printer")
      try await #expect(house.get("camera") == "the camera")
    }
    try await house.stop()
    await printer.stop(within: .zero)
    await camera.stop(within: .zero)
  }

  @Test("a gateway with an unknown name or none is disconnected, and both ends log the reason")
  func unknown() async throws {
    let house = try await house("printer")
    let unknownPeer = try await gateway("an unknown device", named: "unknown")
    #expect(
      try await eventually {
        record.all.contains {
          $0.hasPrefix(
            "warning Refused gateway: claims 'unknown', but the hub's configuration already has a device unknown.")
        }
      })
    #expect(
      try await eventually {
        gatewayRecord.all.contains {
          $0.hasPrefix("warning Link refused: claims 'unknown', but the hub's configuration")
        }
      })
    let nameless = try await gateway("nameless")
    let printer = try await gateway("the printer", named: "printer")
    try await #expect(house.get("printer") == "the printer")
    try await house.stop()
    for gateway in [unknownPeer, nameless, printer] { await gateway.stop(within: .zero) }
  }

  @Test("the peers that have been silent for longest are disconnected to admit new ones")
  func silent() async throws {
    let house = try await house("printer", mostCandidates: 2)
    var unknownPeers: [any Channel] = []
    for _ in 0..<8 {
      unknownPeers.append(try await knock())
    }
    let begin = ContinuousClock.now
    let printer = try await gateway("the printer", named: "printer")
    try await #expect(house.get("printer") == "the printer")
    // A peer is given five seconds to answer.
    #expect(ContinuousClock.now - begin < .seconds(4))
    try await house.stop()
    for unknownPeer in unknownPeers { try? await unknownPeer.close() }
    await printer.stop(within: .zero)
  }

  @Test("the newer of two gateways with one name serves, and the other when it leaves")
  func sameName() async throws {
    let house = try await house("printer")
    let first = try await gateway("first", named: "printer")
    try await #expect(house.get("printer") == "first")
    let second = try await gateway("second", named: "printer")
    #expect(try await eventually { try await house.get("printer") == "second" })
    await second.stop(within: .zero)
    try await #expect(house.get("printer") == "first")
    try await house.stop()
    await first.stop(within: .zero)
  }

  @Test("with balancing, two gateways with one name share the requests by load")
  func balanced() async throws {
    let house = try await house("printer", sharing: .balanced)
    let first = try await gateway("first", named: "printer")
    let second = try await gateway("second", named: "printer")
    func answers() async throws -> [String: Int] {
      try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<10 { group.addTask { try await house.get("printer", "/together") } }
        return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
      }
    }
    #expect(try await eventually { try await answers() == ["first": 5, "second": 5] })
    await first.stop(within: .zero)
    try await #expect(answers() == ["second": 10])
    try await house.stop()
    await second.stop(within: .zero)
  }
}
