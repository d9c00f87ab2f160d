import BywayLineLayer
import Logging
import NIOCore
import NIOEmbedded

@testable import Byway

/// Two ends of a line in virtual time. Unless the wire has a rate, bytes pass immediately, and only the pacers determine the rate.
final class LineRig {
  let loop: EmbeddedEventLoop
  let near: End
  let far: End
  private var lines: (near: EmbeddedChannel, far: EmbeddedChannel)
  private var wires: (toFar: Wire, toNear: Wire)
  /// Whether bytes are lost without a notification.
  var isSilent = false

  /// - Parameters:
  ///   - wireRate: the bytes per millisecond that each direction of the wire carries; `nil`: any number.
  ///   - offer: the streams that the near end takes.
  ///   - hasReaders: whether the bytes of the sessions' channels are recorded; otherwise they are kept for a later reader.
  init(
    configuration: LineLayerConfiguration = .of(bytesPerSecond: 11_520), wireRate: Double? = nil,
    offer: StreamOffer = .none, hasReaders: Bool = true, on loop: EmbeddedEventLoop = EmbeddedEventLoop()
  ) throws {
    self.loop = loop
    wires = (Wire(rate: wireRate), Wire(rate: wireRate))
    near = try End(.dialer, configuration, on: loop, isRead: hasReaders)
    far = try End(.listener(incarnation: 7), configuration, on: loop, isRead: hasReaders)
    lines = try (Self.line(on: loop), Self.line(on: loop))
    try far.driver.attach(lines.far)
    try near.driver.attach(lines.near)
    near.driver.open(session: 1, streams: offer)
    try run(for: .milliseconds(200))
  }

  /// Advances time, and passes bytes.
  func run(for time: TimeAmount, until isMet: () -> Bool = { false }) throws {
    let end = loop.now + time
    while loop.now < end, !isMet() {
      try pass()
      loop.advanceTime(by: .milliseconds(1))
      wires.toFar.advance()
      wires.toNear.advance()
    }
  }

  /// Passes the bytes that are due now.
  func pass() throws {
    try pass(from: lines.near, over: &wires.toFar, to: lines.far)
    try pass(from: lines.far, over: &wires.toNear, to: lines.near)
  }

  private func pass(from sender: EmbeddedChannel, over wire: inout Wire, to receiver: EmbeddedChannel) throws {
    while var bytes = try sender.readOutbound(as: ByteBuffer.self) { wire.queue.writeBuffer(&bytes) }
    while let bytes = wire.arrived(), receiver.isActive, !isSilent { try receiver.writeInbound(bytes) }
  }

  /// Stops the near end's line from accepting bytes.
  func clogNear(with handler: ClogHandler) throws {
    try lines.near.pipeline.syncOperations.addHandler(handler, position: .first)
  }

  /// Unplugs both ends.
  func unplug() throws {
    for line in [lines.near, lines.far] { line.close(promise: nil) }
    loop.run()
  }

  func plugIn() throws {
    lines = try (Self.line(on: loop), Self.line(on: loop))
    try near.driver.attach(lines.near)
    try far.driver.attach(lines.far)
  }

  static func line(on loop: EmbeddedEventLoop) throws -> EmbeddedChannel {
    let line = EmbeddedChannel(loop: loop)
    try line.connect(to: SocketAddress(unixDomainSocketPath: "/line")).wait()
    return line
  }

  /// A direction of the wire.
  private struct Wire {
    let rate: Double?
    var queue = ByteBuffer()
    private var room = 0.0

    init(rate: Double?) { self.rate = rate }

    /// A millisecond has passed. A wire without bytes saves no room for later ones.
    mutating func advance() {
      guard let rate else { return }
      room = queue.readableBytes == 0 ? 0 : room + rate
    }

    /// Takes the bytes that have arrived.
    mutating func arrived() -> ByteBuffer? {
      let count = rate == nil ? queue.readableBytes : min(queue.readableBytes, Int(room))
      guard count > 0 else { return nil }
      room -= Double(count)
      return queue.readSlice(length: count)
    }
  }

  /// An end of the line, with its session.
  final class End: LineDriver.Delegate {
    let driver: LineDriver
    let reader = RecordingReader()
    private(set) var channel: StreamChannel?
    private(set) var ends: [SessionEnd] = []
    private(set) var losses = 0
    private let isRead: Bool

    init(
      _ role: LineLayer.Role, _ configuration: LineLayerConfiguration, on loop: EmbeddedEventLoop, isRead: Bool
    ) throws {
      self.isRead = isRead
      driver = LineDriver(
        LineLayer(role, configuration: configuration, at: 0), address: try LinkAddress("line:test"), on: loop,
        logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
      driver.delegate = self
    }

    func sessionOpened(_ channel: StreamChannel) {
      self.channel = channel
      _ = channel.setOption(.allowRemoteHalfClosure, value: true)
      if isRead { try? channel.pipeline.syncOperations.addHandler(reader) } else { _ = channel.prepareForHandover() }
      channel.activate()
    }

    func sessionEnded(_ end: SessionEnd) -> EventLoopFuture<Void> {
      ends.append(end)
      return driver.eventLoop.makeSucceededVoidFuture()
    }

    func lineLost() { losses += 1 }

    var unavailableReason: String?

    func write(_ bytes: ByteBuffer) -> Outcome {
      guard let channel else { return Outcome(driver.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)) }
      return Outcome(channel.writeAndFlush(bytes))
    }
  }
}

extension LineLayerConfiguration {
  static func of(bytesPerSecond: Int) -> LineLayerConfiguration {
    var configuration = defaults
    configuration.bytesPerSecond = bytesPerSecond
    return configuration
  }
}
