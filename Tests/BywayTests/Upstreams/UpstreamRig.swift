import Glibc
import HTTPWire
import Logging
import NIOCore
import NIOEmbedded
import TestWire

@testable import Byway

/// An upstream and what it dials, in virtual time: a test says what becomes of each try to connect, and what the far end
/// answers.
final class UpstreamRig {
  enum Framing: CaseIterable { case http1, http2 }

  /// What becomes of a try to connect.
  enum Opening: CaseIterable {
    case opens
    case refused
    /// Until its deadline.
    case hangs
    /// Not even then.
    case forgotten
    /// And nobody is at its far end, as on a serial line.
    case silent
    /// The channel is good, and the far end has reset it when somebody reads.
    case resets
    /// Likewise, and the far end has ended it in good order.
    case closes
  }

  /// Both ends of a connection.
  private final class Wire {
    let near: EmbeddedChannel
    let far: EmbeddedChannel
    let road: Int
    var server: (any ServedConnection)?
    var isFrozen = false

    init(_ road: Int, on loop: EmbeddedEventLoop) throws {
      self.road = road
      near = try Self.channel(on: loop)
      far = try Self.channel(on: loop)
    }

    private static func channel(on loop: EmbeddedEventLoop) throws -> EmbeddedChannel {
      let channel = EmbeddedChannel(loop: loop)
      try channel.connect(to: SocketAddress(unixDomainSocketPath: "/link")).wait()
      _ = channel.prepareForHandover()
      return channel
    }
  }

  static let step = TimeAmount.milliseconds(10)

  let loop = EmbeddedEventLoop()
  let framing: Framing
  private(set) var upstream: (any Upstream)?
  /// The same, where gateways dial.
  private(set) var gateways: HTTP2Upstream?
  /// At the far end of each road.
  private let origins: [any ExchangeHandler]
  /// In the places of some of them.
  var rawFarEnds: [Int: RawFarEnd] = [:]
  private var wires: [Wire] = []
  private var opened: [Int: Int] = [:]
  /// When each try to connect began.
  private(set) var dials: [NIODeadline] = []
  /// Over which road each of them went.
  private(set) var dialedRoads: [Int] = []
  /// The streams that the far end allows at once.
  var streamLimit = 256
  /// What becomes of the next try, and after how long.
  var opening: () -> (Opening, after: TimeAmount) = { (.opens, .zero) }
  /// The same, where there are several roads.
  var openings: [Int: (Opening, after: TimeAmount)] = [:]
  private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  /// - Parameters:
  ///   - responseTimeout: from the end of a request to the response's head.
  ///   - jitter: of the pauses between tries.
  convenience init(
    _ framing: Framing, origin: any ExchangeHandler, patience: TimeAmount = .seconds(5),
    responseTimeout: TimeAmount = .seconds(60), maximumConnections: Int = 4,
    jitter: @escaping @Sendable () -> Double = { 1 }
  ) {
    self.init(
      framing, roads: [origin], patience: patience, responseTimeout: responseTimeout,
      maximumConnections: maximumConnections, jitter: jitter)
  }

  /// - Parameter origins: one for each road.
  init(
    _ framing: Framing, roads origins: [any ExchangeHandler], patience: TimeAmount = .seconds(5),
    responseTimeout: TimeAmount = .seconds(60), maximumConnections: Int = 4,
    jitter: @escaping @Sendable () -> Double = { 1 }
  ) {
    self.framing = framing
    self.origins = origins
    let rig = Unshared(self)
    let dialers = origins.indices.map { road in
      Dialer(name: origins.count > 1 ? "road \(road)" : "far end") { _, deadline in
        rig.value.dial(road, by: deadline)
      }
    }
    switch framing {
    case .http1:
      var configuration = HTTP1Upstream.Configuration.defaults
      configuration.patience = patience
      configuration.responseTimeout = responseTimeout
      configuration.bodyTimeout = responseTimeout
      configuration.maximumConnections = maximumConnections
      configuration.jitter = jitter
      upstream = HTTP1Upstream(roads: dialers, on: loop, hop: nil, configuration: configuration)
    case .http2:
      var configuration = HTTP2Upstream.Configuration.defaults
      configuration.patience = patience
      configuration.responseTimeout = responseTimeout
      configuration.jitter = jitter
      if origins.count > 1 {
        configuration.http2 = .init(liveness: .ofServer, hasOtherRoads: true)
      }
      upstream = HTTP2Upstream(roads: dialers, on: loop, hop: nil, configuration: configuration, logger: logger)
    }
  }

  /// Of a name that gateways dial for.
  init(sharing: GatewaySharing) {
    framing = .http2
    origins = []
    let gateways = HTTP2Upstream.ofGateways(
      named: "device", on: loop, hop: nil, patience: .seconds(5), liveness: .ofServer, sharing: sharing, siblings: nil,
      logger: logger)
    self.gateways = gateways
    upstream = gateways
  }

  /// A gateway dials, and has said who it is.
  func gatewayDials(_ origin: any ExchangeHandler) throws {
    try gatewayDials { wire in
      wire.server = HTTP2ServerConnection.start(
        on: wire.far, handler: origin, configuration: ServerConfiguration(hop: "far", logger: logger))
    }
  }

  func gatewayDials(_ raw: RawFarEnd) throws {
    try gatewayDials { wire in
      try wire.far.pipeline.syncOperations.addHandler(raw)
      wire.far.startReading()
    }
  }

  /// Each has a road of its own, for this rig.
  private func gatewayDials(_ start: (Wire) throws -> Void) throws {
    let wire = try Wire(dials.count, on: loop)
    dials.append(loop.now)
    try start(wire)
    wires.append(wire)
    let connection = HTTP2ClientConnection(
      on: wire.near, name: "gateway", configuration: .defaults, rules: UpstreamRules(farEnd: .gateway, via: nil))
    connection.start()
    try run(for: .milliseconds(50))
    gateways?.adopt(connection)
  }

  // MARK: Time

  func run(for time: TimeAmount, until isMet: () -> Bool = { false }) throws {
    let end = loop.now + time
    while loop.now < end, !isMet() { try pass() }
  }

  /// One step of time, and the bytes of that time.
  func pass() throws {
    for wire in wires where !wire.isFrozen {
      try Self.carry(from: wire.near, to: wire.far)
      try Self.carry(from: wire.far, to: wire.near)
    }
    wires.removeAll { !$0.near.isActive && !$0.far.isActive }
    loop.advanceTime(by: Self.step)
  }

  private static func carry(from sender: EmbeddedChannel, to receiver: EmbeddedChannel) throws {
    while let bytes = try sender.readOutbound(as: ByteBuffer.self) {
      if receiver.isActive { try receiver.writeInbound(bytes) }
    }
    guard !sender.isActive, receiver.isActive else { return }
    receiver.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    receiver.close(promise: nil)
  }

  // MARK: Connecting

  private func dial(_ road: Int, by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
    dials.append(loop.now)
    dialedRoads.append(road)
    let promise = loop.makePromise(of: (any Channel).self)
    let (wanted, delay) = openings[road] ?? opening()
    // Who dials in a busy loop gets no further, so that a test can see it.
    let opening = loop.now + delay > deadline || dials.count > 10_000 ? .hangs : wanted
    let end = Unshared((self, promise))
    switch opening {
    case .opens, .resets, .closes, .silent:
      loop.scheduleTask(in: delay) { try end.value.0.open(road, opening, end.value.1) }
    case .refused:
      loop.scheduleTask(in: delay) { promise.fail(BywayError(.linkUnavailable, "refused", processing: .none)) }
    case .hangs:
      loop.scheduleTask(deadline: deadline) { promise.fail(BywayError(.timedOut, "hung", processing: .none)) }
    case .forgotten:
      loop.scheduleTask(deadline: deadline + .seconds(20)) { try end.value.0.open(road, .opens, end.value.1) }
    }
    return promise.futureResult
  }

  private func open(_ road: Int, _ opening: Opening, _ promise: EventLoopPromise<any Channel>) throws {
    let wire = try Wire(road, on: loop)
    opened[road, default: 0] += 1
    switch opening {
    case .resets:
      // The gate keeps it, as it does where a socket learns of it before its owner reads.
      wire.near.pipeline.fireErrorCaught(IOError(errnoCode: ECONNRESET, reason: "read"))
      wire.far.close(promise: nil)
    case .closes:
      wire.near.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
      wire.far.close(promise: nil)
    default:
      wires.append(wire)
      wire.isFrozen = opening == .silent
      if let raw = rawFarEnds[road] {
        try wire.far.pipeline.syncOperations.addHandler(raw)
        wire.far.startReading()
        break
      }
      var configuration = ServerConfiguration(hop: "far", logger: logger)
      configuration.http2.streams.maximumConcurrent = streamLimit
      wire.server =
        framing == .http2
        ? HTTP2ServerConnection.start(on: wire.far, handler: origins[road], configuration: configuration)
        : HTTP1ServerConnection.start(on: wire.far, handler: origins[road], configuration: configuration)
    }
    promise.succeed(wire.near)
  }

  // MARK: Disturbances

  var connectionCount: Int { wires.filter(\.near.isActive).count }

  /// As when the far end's process is killed.
  func reset(_ index: Int = 0) {
    guard wires.indices.contains(index) else { return }
    reset(wires[index])
  }

  private func reset(_ wire: Wire) {
    wire.near.pipeline.fireErrorCaught(IOError(errnoCode: ECONNRESET, reason: "read"))
    wire.far.close(promise: nil)
  }

  /// All that goes over a road ends, and nothing more does.
  func cut(_ road: Int) {
    openings[road] = (.refused, .zero)
    for wire in wires where wire.road == road { reset(wire) }
  }

  /// Likewise, and nobody is told.
  func silence(_ road: Int) {
    openings[road] = (.silent, .zero)
    for wire in wires where wire.road == road { wire.isFrozen = true }
  }

  func repair(_ road: Int) {
    openings[road] = nil
  }

  /// The number of connections that a link has opened so far.
  func openedCount(on road: Int) -> Int { opened[road] ?? 0 }

  func connectionCount(on road: Int) -> Int {
    wires.count { $0.road == road && $0.near.isActive }
  }

  func close(_ index: Int = 0) {
    if wires.indices.contains(index) { wires[index].far.close(promise: nil) }
  }

  /// The far end of each connection over a road ends it in good order.
  func close(on road: Int) {
    for wire in wires where wire.road == road { wire.far.close(promise: nil) }
  }

  /// As when the far end is asked to stop.
  func drain(_ index: Int = 0) {
    if wires.indices.contains(index) { wires[index].server?.drain() }
  }

  /// As when the far end is stopped for a while.
  func setFrozen(_ isFrozen: Bool, _ index: Int = 0) {
    if wires.indices.contains(index) { wires[index].isFrozen = isFrozen }
  }

  func thaw() {
    for wire in wires { wire.isFrozen = false }
  }

  // MARK: Requests

  func begin(_ fields: FieldSection = .get, deadline: TimeAmount? = nil) throws -> RiggedResponse {
    let response = RiggedResponse(at: loop.now, deadline: deadline.map { loop.now + $0 }, on: loop)
    response.request = upstream?.begin(
      ExchangeHead(fields: fields, isComplete: true, deadline: response.deadline), respondingTo: response)
    return response
  }

  /// The same for one of several clients.
  /// - Parameters:
  ///   - client: whose identity is that of its connection.
  ///   - user: by name.
  func begin(_ fields: FieldSection, of client: AnyObject, user: String? = nil, isComplete: Bool = true) throws
    -> RiggedResponse
  {
    let response = RiggedResponse(at: loop.now, deadline: nil, on: loop)
    var head = ExchangeHead(fields: fields, isComplete: isComplete)
    head.client = ObjectIdentifier(client)
    if let user = user.flatMap({ UserName($0) }) { head.visitor = .user(user, by: .password) }
    response.request = upstream?.begin(head, respondingTo: response)
    return response
  }

  func letGo() {
    upstream = nil
    gateways = nil
  }
}
