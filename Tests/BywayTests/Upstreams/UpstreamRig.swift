import BywayHTTPWire
import Glibc
import Logging
import NIOCore
import NIOEmbedded
import TestWire

@testable import Byway

/// An upstream and its far ends in virtual time. The test sets the outcome of each attempt to connect and the far ends'
/// responses.
final class UpstreamRig {
  enum Framing: CaseIterable { case http1, http2 }

  /// The outcome of an attempt to connect.
  enum Opening: CaseIterable {
    case opens
    case refused
    /// The attempt fails at its deadline.
    case hangs
    /// The attempt does not end at its deadline, and succeeds 20 s later.
    case forgotten
    /// The channel opens without a peer, as on a serial line.
    case silent
    /// The channel opens, and is reset before the first read.
    case resets
    /// The channel opens, and is closed regularly before the first read.
    case closes
  }

  /// Both ends of a connection.
  private final class Wire {
    let near: EmbeddedChannel
    let far: EmbeddedChannel
    let link: Int
    var server: (any ServedConnection)?
    var isFrozen = false

    init(_ link: Int, on loop: EmbeddedEventLoop) throws {
      self.link = link
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
  /// The upstream, if gateways dial.
  private(set) var gateways: HTTP2Upstream?
  /// The origin on each link.
  private let origins: [any ExchangeHandler]
  /// Raw far ends that replace the origins of some links.
  var rawFarEnds: [Int: RawFarEnd] = [:]
  private var wires: [Wire] = []
  private var opened: [Int: Int] = [:]
  /// The time of each attempt to connect.
  private(set) var dials: [NIODeadline] = []
  /// The link of each attempt.
  private(set) var dialedLinks: [Int] = []
  /// The far end's limit of concurrent streams.
  var streamLimit = 256
  /// Returns the outcome of the next attempt, and its delay.
  var opening: () -> (Opening, after: TimeAmount) = { (.opens, .zero) }
  /// The outcomes by link, if there are several.
  var openings: [Int: (Opening, after: TimeAmount)] = [:]
  private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  /// - Parameters:
  ///   - responseTimeout: the time from the end of a request to the response's head.
  ///   - jitter: the random part of the pauses between attempts.
  convenience init(
    _ framing: Framing, origin: any ExchangeHandler, patience: TimeAmount = .seconds(5),
    responseTimeout: TimeAmount = .seconds(60), maximumConnections: Int = 4,
    jitter: @escaping @Sendable () -> Double = { 1 }
  ) {
    self.init(
      framing, links: [origin], patience: patience, responseTimeout: responseTimeout,
      maximumConnections: maximumConnections, jitter: jitter)
  }

  /// - Parameter origins: one for each link.
  init(
    _ framing: Framing, links origins: [any ExchangeHandler], patience: TimeAmount = .seconds(5),
    responseTimeout: TimeAmount = .seconds(60), maximumConnections: Int = 4,
    jitter: @escaping @Sendable () -> Double = { 1 }
  ) {
    self.framing = framing
    self.origins = origins
    let rig = Unshared(self)
    let dialers = origins.indices.map { link in
      Dialer(name: origins.count > 1 ? "link \(link)" : "far end") { _, deadline in
        rig.value.dial(link, by: deadline)
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
      upstream = HTTP1Upstream(links: dialers, on: loop, hop: nil, configuration: configuration)
    case .http2:
      var configuration = HTTP2Upstream.Configuration.defaults
      configuration.patience = patience
      configuration.responseTimeout = responseTimeout
      configuration.jitter = jitter
      if origins.count > 1 {
        configuration.http2 = .init(liveness: .ofServer, hasOtherLinks: true)
      }
      upstream = HTTP2Upstream(links: dialers, on: loop, hop: nil, configuration: configuration, logger: logger)
    }
  }

  /// Makes an upstream for a device whose gateways dial.
  init(sharing: GatewaySharing) {
    framing = .http2
    origins = []
    let gateways = HTTP2Upstream.ofGateways(
      named: "device", on: loop, hop: nil, patience: .seconds(5), liveness: .ofServer, sharing: sharing, siblings: nil,
      logger: logger)
    self.gateways = gateways
    upstream = gateways
  }

  /// Makes a gateway dial and identify itself.
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

  /// Makes a gateway dial over a new link of this rig.
  private func gatewayDials(_ start: (Wire) throws -> Void) throws {
    let wire = try Wire(dials.count, on: loop)
    dials.append(loop.now)
    try start(wire)
    wires.append(wire)
    let connection = HTTP2ClientConnection(
      on: wire.near, name: "gateway", configuration: .defaults, rules: UpstreamRules(serverKind: .gateway, via: nil))
    connection.start()
    try run(for: .milliseconds(50))
    gateways?.adopt(connection)
  }

  // MARK: Time

  func run(for time: TimeAmount, until isMet: () -> Bool = { false }) throws {
    let end = loop.now + time
    while loop.now < end, !isMet() { try pass() }
  }

  /// Advances time by one step, and passes the bytes of that time.
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

  private func dial(_ link: Int, by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
    dials.append(loop.now)
    dialedLinks.append(link)
    let promise = loop.makePromise(of: (any Channel).self)
    let (wanted, delay) = openings[link] ?? opening()
    // A dialer in a busy loop is stopped here, so that the test can detect it.
    let opening = loop.now + delay > deadline || dials.count > 10_000 ? .hangs : wanted
    let end = Unshared((self, promise))
    switch opening {
    case .opens, .resets, .closes, .silent:
      loop.scheduleTask(in: delay) { try end.value.0.open(link, opening, end.value.1) }
    case .refused:
      loop.scheduleTask(in: delay) { promise.fail(BywayError(.linkUnavailable, "refused", processing: .none)) }
    case .hangs:
      loop.scheduleTask(deadline: deadline) { promise.fail(BywayError(.timedOut, "hung", processing: .none)) }
    case .forgotten:
      loop.scheduleTask(deadline: deadline + .seconds(20)) { try end.value.0.open(link, .opens, end.value.1) }
    }
    return promise.futureResult
  }

  private func open(_ link: Int, _ opening: Opening, _ promise: EventLoopPromise<any Channel>) throws {
    let wire = try Wire(link, on: loop)
    opened[link, default: 0] += 1
    switch opening {
    case .resets:
      // The channel keeps the error until its owner reads, as a socket does.
      wire.near.pipeline.fireErrorCaught(IOError(errnoCode: ECONNRESET, reason: "read"))
      wire.far.close(promise: nil)
    case .closes:
      wire.near.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
      wire.far.close(promise: nil)
    default:
      wires.append(wire)
      wire.isFrozen = opening == .silent
      if let raw = rawFarEnds[link] {
        try wire.far.pipeline.syncOperations.addHandler(raw)
        wire.far.startReading()
        break
      }
      var configuration = ServerConfiguration(hop: "far", logger: logger)
      configuration.http2.streams.maximumConcurrent = streamLimit
      wire.server =
        framing == .http2
        ? HTTP2ServerConnection.start(on: wire.far, handler: origins[link], configuration: configuration)
        : HTTP1ServerConnection.start(on: wire.far, handler: origins[link], configuration: configuration)
    }
    promise.succeed(wire.near)
  }

  // MARK: Faults

  var connectionCount: Int { wires.filter(\.near.isActive).count }

  /// Resets a connection, as if the far end's process was killed.
  func reset(_ index: Int = 0) {
    guard wires.indices.contains(index) else { return }
    reset(wires[index])
  }

  private func reset(_ wire: Wire) {
    wire.near.pipeline.fireErrorCaught(IOError(errnoCode: ECONNRESET, reason: "read"))
    wire.far.close(promise: nil)
  }

  /// Resets all connections of a link, and refuses new ones.
  func cut(_ link: Int) {
    openings[link] = (.refused, .zero)
    for wire in wires where wire.link == link { reset(wire) }
  }

  /// Stops all bytes on a link without a notification.
  func silence(_ link: Int) {
    openings[link] = (.silent, .zero)
    for wire in wires where wire.link == link { wire.isFrozen = true }
  }

  func repair(_ link: Int) {
    openings[link] = nil
  }

  /// The number of connections that a link has opened so far.
  func openedCount(on link: Int) -> Int { opened[link] ?? 0 }

  func connectionCount(on link: Int) -> Int {
    wires.count { $0.link == link && $0.near.isActive }
  }

  func close(_ index: Int = 0) {
    if wires.indices.contains(index) { wires[index].far.close(promise: nil) }
  }

  /// Closes every connection of a link regularly at its far end.
  func close(on link: Int) {
    for wire in wires where wire.link == link { wire.far.close(promise: nil) }
  }

  /// Drains a connection's far end.
  func drain(_ index: Int = 0) {
    if wires.indices.contains(index) { wires[index].server?.drain() }
  }

  /// Suspends or resumes a connection's far end.
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

  /// Begins a request of one of several clients.
  /// - Parameters:
  ///   - client: the connection, which identifies the client.
  ///   - user: the user's name.
  func begin(_ fields: FieldSection, of client: AnyObject, user: String? = nil, isComplete: Bool = true) throws
    -> RiggedResponse
  {
    let response = RiggedResponse(at: loop.now, deadline: nil, on: loop)
    var head = ExchangeHead(fields: fields, isComplete: isComplete)
    head.client = ObjectIdentifier(client)
    if let user = user.flatMap({ UserName($0) }) { head.user = .user(user, by: .password) }
    response.request = upstream?.begin(head, respondingTo: response)
    return response
  }

  func release() {
    upstream = nil
    gateways = nil
  }
}
