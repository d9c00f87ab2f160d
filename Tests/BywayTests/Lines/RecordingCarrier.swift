import BywayLineLayer
import NIOCore

@testable import Byway

/// A carrier of a stream that records its calls.
final class RecordingCarrier: StreamCarrier {
  weak var channel: StreamChannel?
  var room = 1000
  /// Whether written bytes are kept until the test sends them.
  var keeps = false
  private(set) var backlog = 0
  private(set) var written = ""
  private(set) var consumed = 0
  private(set) var isOutputClosed = false
  private(set) var isClosed = false

  func write(_ bytes: ByteBuffer) {
    written += String(buffer: bytes)
    if keeps { backlog += bytes.readableBytes }
  }

  func leave(_ count: Int) {
    backlog -= count
    channel?.drained()
  }

  var lineStatistics: LineStatistics? { LineLayer(.dialer, configuration: .defaults, at: 0).statistics }

  func flush() {}
  func consumed(_ count: Int) { consumed += count }
  func closeOutput() { isOutputClosed = true }
  func close() { isClosed = true }
}

/// A handler that records what a channel delivers.
final class RecordingReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  var events: [String] = []
  var readsAgain = false
  private(set) var bytes = ByteBuffer()

  var text: String { String(buffer: bytes) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let piece = unwrapInboundIn(data)
    bytes.writeImmutableBuffer(piece)
    events.append(String(buffer: piece))
    if readsAgain { context.read() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event as? ChannelEvent == .inputClosed { events.append("input closed") }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { events.append("writable") }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    events.append("error: \(error)")
  }

  func channelInactive(context: ChannelHandlerContext) {
    events.append("inactive")
  }
}

/// The state of a future.
struct Outcome {
  private final class Box {
    var result: Result<Void, any Error>?
  }

  private let box = Box()

  init(_ future: EventLoopFuture<Void>) {
    future.assumeIsolated().whenComplete { [box] in box.result = $0 }
  }

  var isPending: Bool { box.result == nil }

  var hasSucceeded: Bool {
    if case .success? = box.result { true } else { false }
  }

  var error: (any Error)? {
    if case .failure(let error)? = box.result { error } else { nil }
  }
}
