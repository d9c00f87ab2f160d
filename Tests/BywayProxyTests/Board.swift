import Byway
import BywayLineLayer
import Logging
import NIOCore
import NIOPosix

/// A board that dials a hub, and serves HTTP/1.1 without streams: each session is one connection. Used on its event loop.
final class Board: LineDriver.Delegate, @unchecked Sendable {
  let channel: any Channel
  private let driver: LineDriver
  private let answer: String
  /// The text of the hub before its line.
  private(set) var said = ""
  private(set) var isAccepted = false
  private(set) var sessions = 0

  static func greeting(_ name: String, _ incarnation: UInt32) -> String {
    let digits = String(incarnation, radix: 16)
    return "byway-line 1 \(name) \(String(repeating: "0", count: 8 - digits.count))\(digits)\n"
  }

  /// Dials, and sends a text in that many pieces.
  /// - Parameters:
  ///   - text: what its server answers.
  ///   - layer: the line of an earlier connection, whose session continues.
  static func dial(
    _ link: Link, _ greeting: String, pieces: Int = 1, incarnation: UInt32 = 7, says text: String = "the board",
    continuing former: Board? = nil
  ) async throws -> Board {
    let eventLoop = former?.channel.eventLoop ?? MultiThreadedEventLoopGroup.singleton.next()
    let channel = try await link.transport.connect(
      to: link.address,
      context: LinkContext(group: eventLoop, logger: quiet, deadline: .now() + .seconds(10)))
    let board = Board(channel, former?.driver ?? driver(incarnation, link.address, eventLoop), says: text)
    try await eventLoop.submit {
      board.driver.delegate = board
      try channel.pipeline.syncOperations.addHandler(Ear(board))
      channel.startReading()
    }.get()
    let bytes = Array(greeting.utf8)
    let step = max(1, (bytes.count + pieces - 1) / pieces)
    for start in stride(from: 0, to: bytes.count, by: step) {
      try await channel.writeAndFlush(ByteBuffer(bytes: bytes[start..<min(start + step, bytes.count)]))
    }
    return board
  }

  private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  private static func driver(_ incarnation: UInt32, _ address: LinkAddress, _ eventLoop: any EventLoop) -> LineDriver {
    let layer = LineLayer(
      .listener(incarnation: incarnation), configuration: .defaults, at: NIODeadline.now().uptimeNanoseconds)
    return LineDriver(layer, address: address, on: eventLoop, logger: quiet)
  }

  private init(_ channel: any Channel, _ driver: LineDriver, says answer: String) {
    self.channel = channel
    self.driver = driver
    self.answer = answer
  }

  /// Its state now. Any thread.
  var state: (said: String, isAccepted: Bool, sessions: Int) {
    get async throws { try await channel.eventLoop.submit { (self.said, self.isAccepted, self.sessions) }.get() }
  }

  /// Breaks the connection. Its session waits for another.
  func hangUp() async { try? await channel.close() }

  // MARK: LineDriver.Delegate

  func sessionOpened(_ channel: StreamChannel) {
    sessions += 1
    try? channel.pipeline.syncOperations.addHandler(Server(answer))
    _ = channel.prepareForHandover()
    channel.activate()
    channel.startReading()
  }

  func sessionEnded(_ end: SessionEnd) -> EventLoopFuture<Void> { driver.eventLoop.makeSucceededVoidFuture() }

  func lineLost() {}

  var unavailableReason: String? { nil }

  /// Takes the text before the line, and begins the line at the first zero.
  private final class Ear: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let board: Board

    init(_ board: Board) { self.board = board }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var bytes = unwrapInboundIn(data)
      if !board.isAccepted {
        let view = bytes.readableBytesView
        let end = view.firstIndex(of: 0)
        board.said += bytes.readString(length: (end ?? view.endIndex) - view.startIndex) ?? ""
        guard end != nil else { return }
        board.isAccepted = true
        try? board.driver.attach(context.channel)
      }
      context.fireChannelRead(NIOAny(bytes))
    }
  }

  /// Answers each request without a body.
  private final class Server: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let answer: String
    private var received = ""

    init(_ answer: String) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      received += String(buffer: unwrapInboundIn(data))
      while let end = received.firstRange(of: "\r\n\r\n") {
        received = String(received[end.upperBound...])
        let response = "HTTP/1.1 200 OK\r\nContent-Length: \(answer.utf8.count)\r\n\r\n\(answer)"
        context.writeAndFlush(NIOAny(ByteBuffer(string: response)), promise: nil)
      }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
    }
  }
}
