import BywayLineLayer
import Logging
import NIOCore
import NIOEmbedded

@testable import Byway

/// A line that its far end dials, in virtual time. Bytes pass immediately.
final class DialedRig {
  let loop = EmbeddedEventLoop()
  let line: DialedLine
  let far: Far
  private var connection: (near: EmbeddedChannel, far: EmbeddedChannel)?

  /// - Parameter streams: the streams that the far end takes.
  init(streams: UInt8) throws {
    line = DialedLine(try LinkAddress("board:test"), on: loop, logger: Self.quiet)
    far = try Far(streams: streams, on: loop)
  }

  fileprivate static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }

  /// The far end connects.
  func dial() throws {
    let connection = try (near: LineRig.line(on: loop), far: LineRig.line(on: loop))
    self.connection = connection
    try line.attach(connection.near)
    try far.driver.attach(connection.far)
    try run(for: .milliseconds(10))
  }

  /// The connection breaks.
  func hangUp() {
    connection?.near.close(promise: nil)
    connection?.far.close(promise: nil)
    connection = nil
    loop.run()
  }

  var isNearOpen: Bool { connection?.near.isActive ?? false }

  /// Advances time, and passes bytes.
  func run(for time: TimeAmount) throws {
    let end = loop.now + time
    while loop.now < end {
      try pass()
      loop.advanceTime(by: .milliseconds(1))
    }
  }

  private func pass() throws {
    guard let connection else { return }
    while let bytes = try connection.near.readOutbound(as: ByteBuffer.self) {
      try connection.far.writeInbound(bytes)
    }
    while let bytes = try connection.far.readOutbound(as: ByteBuffer.self) {
      if connection.near.isActive, !far.isMute { try connection.near.writeInbound(bytes) }
    }
  }

  /// Asks for a stream, and lets some time pass.
  func connect(within time: TimeAmount = .seconds(10)) throws -> Opening {
    let opening = Opening(line.connect(by: loop.now + time))
    try run(for: .milliseconds(20))
    return opening
  }

  /// The state of a stream that was asked for.
  final class Opening {
    private(set) var channel: (any Channel)?
    private(set) var error: String?
    private(set) var reader = RecordingReader()

    fileprivate init(_ future: EventLoopFuture<any Channel>) {
      future.assumeIsolated().whenComplete { [self] result in
        switch result {
        case .success(let channel):
          self.channel = channel
          try? channel.pipeline.syncOperations.addHandler(reader)
          channel.startReading()
        case .failure(let error): self.error = "\(error)"
        }
      }
    }

    var isPending: Bool { channel == nil && error == nil }

    /// Begins the stream at its far end, too.
    func say(_ text: String) { channel?.writeAndFlush(ByteBuffer(string: text), promise: nil) }
  }

  /// The listening end, whose sessions one after another have streams.
  final class Far: LineDriver.Delegate {
    let driver: LineDriver
    private(set) var sessions: [FarStreams?] = []
    private(set) var ends: [SessionEnd] = []
    /// Whether nothing of it arrives. Without its HELLO, no session opens.
    var isMute = false

    fileprivate init(streams: UInt8, on loop: EmbeddedEventLoop) throws {
      var configuration = LineLayerConfiguration.defaults
      if streams > 0 { configuration.streams = StreamOffer(count: streams, credit: 4) }
      driver = LineDriver(
        LineLayer(.listener(incarnation: 7), configuration: configuration, at: 0),
        address: try LinkAddress("line:test"),
        on: loop, logger: DialedRig.quiet)
      driver.delegate = self
    }

    func sessionOpened(_ channel: StreamChannel) {
      let streams = driver.layer.streams.map { FarStreams($0) }
      sessions.append(streams)
      _ = channel.setOption(.allowRemoteHalfClosure, value: true)
      if let streams { try? channel.pipeline.syncOperations.addHandler(streams) }
      _ = channel.prepareForHandover()
      channel.activate()
      channel.startReading()
    }

    func sessionEnded(_ end: SessionEnd) -> EventLoopFuture<Void> {
      ends.append(end)
      return driver.eventLoop.makeSucceededVoidFuture()
    }

    func lineLost() {}

    var unavailableReason: String? { nil }
  }
}
