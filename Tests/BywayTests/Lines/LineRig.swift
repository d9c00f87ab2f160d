import LineLayer
import Logging
import NIOCore
import NIOEmbedded

@testable import Byway

/// Two ends of a line in virtual time. Bytes pass immediately; the pacers determine the rate.
final class LineRig {
  let loop: EmbeddedEventLoop
  let near: End
  let far: End
  private var lines: (near: EmbeddedChannel, far: EmbeddedChannel)
  /// Whether bytes are lost without a notification.
  var isSilent = false

  /// - Parameter hasReaders: whether the bytes of the sessions' channels are recorded; otherwise they are kept for a later reader.
  init(
    configuration: LineLayerConfiguration = .of(bytesPerSecond: 11_520), hasReaders: Bool = true,
    on loop: EmbeddedEventLoop = EmbeddedEventLoop()
  ) throws {
    self.loop = loop
    near = try End(.dialer, configuration, on: loop, isRead: hasReaders)
    far = try End(.listener(incarnation: 7), configuration, on: loop, isRead: hasReaders)
    lines = try (Self.line(on: loop), Self.line(on: loop))
    try far.driver.attach(lines.far)
    try near.driver.attach(lines.near)
    near.driver.open(session: 1)
    try run(for: .milliseconds(200))
  }

  /// Advances time, and passes bytes.
  func run(for time: TimeAmount, until isMet: () -> Bool = { false }) throws {
    let end = loop.now + time
    while loop.now < end, !isMet() {
      try pass()
      loop.advanceTime(by: .milliseconds(1))
    }
  }

  /// Passes the bytes that are due now.
  func pass() throws {
    try pass(from: lines.near, to: lines.far)
    try pass(from: lines.far, to: lines.near)
  }

  private func pass(from sender: EmbeddedChannel, to receiver: EmbeddedChannel) throws {
    while let bytes = try sender.readOutbound(as: ByteBuffer.self) {
      if receiver.isActive, !isSilent { try receiver.writeInbound(bytes) }
    }
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
