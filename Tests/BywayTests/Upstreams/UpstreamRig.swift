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
  /// At the far end of each road.
  private let origins: [any ExchangeHandler]
  private var wires: [Wire] = []
  /// When each try to connect began.
  private(set) var dials: [NIODeadline] = []
  /// Over which road each of them went.
  private(set) var dialedRoads: [Int] = []
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
    switch opening {
    case .resets:
      // The gate keeps it, as it does where a socket learns of it before its owner reads.
      wire.near.pipeline.fireErrorCaught(IOError(errnoCode: ECONNRESET, reason: "read"))
      wire.far.close(promise: nil)
    case .closes:
      wire.near.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
      wire.far.close(promise: nil)
    default:
      let configuration = ServerConfiguration(hop: "far", logger: logger)
      wire.server =
        framing == .http2
        ? HTTP2ServerConnection.start(on: wire.far, handler: origins[road], configuration: configuration)
        : HTTP1ServerConnection.start(on: wire.far, handler: origins[road], configuration: configuration)
      wire.isFrozen = opening == .silent
      wires.append(wire)
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

  func connectionCount(on road: Int) -> Int {
    wires.count { $0.road == road && $0.near.isActive }
  }

  func close(_ index: Int = 0) {
    if wires.indices.contains(index) { wires[index].far.close(promise: nil) }
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

  func letGo() { upstream = nil }
}

/// What became of one request.
final class RiggedResponse: ResponseSink {
  let begin: NIODeadline
  let deadline: NIODeadline?
  /// When the head came.
  private(set) var answer: NIODeadline?
  private(set) var end: NIODeadline?
  private(set) var error: BywayError?
  /// More than one means that somebody does not know what he said.
  private(set) var endings = 0
  private(set) var isCancelled = false
  private(set) var callsAfterEnd = 0
  private(set) var status: String?
  var request: (any RequestSink)?
  private let loop: EmbeddedEventLoop

  init(at begin: NIODeadline, deadline: NIODeadline?, on loop: EmbeddedEventLoop) {
    self.begin = begin
    self.deadline = deadline
    self.loop = loop
  }

  var isOver: Bool { end != nil || isCancelled }

  func cancel() {
    guard !isOver else { return }
    isCancelled = true
    request?.cancel(BywayError(.cancelled, "Enough."))
  }

  private func over() {
    endings += 1
    end = loop.now
  }

  private func called() {
    if isOver { callsAfterEnd += 1 }
  }

  func informational(_ head: FieldSection) { called() }

  func head(_ head: FieldSection, isComplete: Bool) {
    called()
    answer = loop.now
    status = head.value(of: .status)
    if isComplete { over() }
  }

  func write(_ bytes: ByteBuffer) {
    called()
    request?.didConsumeResponse(bytes.readableBytes)
  }

  func finish(trailers: FieldSection?) {
    called()
    over()
  }

  func fail(_ error: BywayError) {
    called()
    self.error = error
    over()
  }

  func didConsumeRequest(_ bytes: Int) {}
}

/// An origin that does what a test says, for each request.
final class RiggedOrigin: ExchangeHandler {
  enum Answer {
    case answers(after: TimeAmount)
    /// Nothing at all.
    case hangs
    /// Its head and some bytes, and then nothing.
    case stalls
  }

  private let loop: () -> EmbeddedEventLoop?
  private let answer: () -> Answer
  private(set) var paths: [String] = []

  init(on loop: @escaping () -> EmbeddedEventLoop?, _ answer: @escaping () -> Answer = { .answers(after: .zero) }) {
    self.loop = loop
    self.answer = answer
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    paths.append(request.fields.value(of: .path) ?? "")
    let end = Unshared(sink)
    switch answer() {
    case .answers(let delay):
      loop()?.scheduleTask(in: delay) {
        end.value.head([":status": "200", "content-length": "2"], isComplete: false)
        end.value.write(ByteBuffer(string: "ok"))
        end.value.finish(trailers: nil)
      }
    case .hangs:
      break
    case .stalls:
      sink.head([":status": "200", "content-length": "9"], isComplete: false)
      sink.write(ByteBuffer(string: "some"))
    }
    return DiscardingRequestSink()
  }
}
