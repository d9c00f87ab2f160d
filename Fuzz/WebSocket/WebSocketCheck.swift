public import FuzzSupport
import NIOCore
import NIOEmbedded
import NIOWebSocket
import WebSocketTransport

/// The properties of the bytes that any peer sends after its handshake: the first byte chooses the end and the cuts, the others are the bytes.
public enum WebSocketCheck {
  public static func check(_ input: [UInt8]) throws(Violation) {
    guard let seed = input.first else { return }
    let bytes = Array(input.dropFirst())
    let whole = read([bytes], peerMasks: seed & 1 == 0)
    let cut = read(bytes.cut(like: seed), peerMasks: seed & 1 == 0)
    try expect(whole == cut, "in one piece it is \(whole), and in several \(cut)")
    let delivered = whole.reduce(0) { $0 + $1.byteCount }
    try expect(delivered <= bytes.count, "\(bytes.count) bytes became \(delivered)")
    let end = whole.firstIndex { $0.isEnd } ?? whole.endIndex
    try expect(whole[end...].dropFirst().allSatisfy { $0.byteCount == 0 }, "bytes came after the end: \(whole)")
  }

  private static func read(_ pieces: [[UInt8]], peerMasks: Bool) -> [MessageReader.Outcome] {
    let collector = Collector(peerMasks: peerMasks)
    let decoder = ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: FrameLimits.received))
    let channel = EmbeddedChannel(handlers: [decoder, collector])
    for piece in pieces {
      // After an error the rest is not read.
      guard (try? channel.writeInbound(ByteBuffer(bytes: piece))) != nil else { break }
      if collector.hasFailed { break }
    }
    let outcomes = collector.outcomes
    _ = try? channel.finish(acceptAlreadyClosed: true)
    return outcomes
  }
}

private final class Collector: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame

  private var reader: MessageReader
  private(set) var outcomes: [MessageReader.Outcome] = []
  private(set) var hasFailed = false

  init(peerMasks: Bool) {
    reader = MessageReader(peerMasks: peerMasks)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    outcomes.append(reader.receive(unwrapInboundIn(data)))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let violation = WebSocketViolation(error), !hasFailed else { return }
    hasFailed = true
    outcomes.append(.violation(violation))
  }
}

extension MessageReader.Outcome {
  fileprivate var byteCount: Int {
    switch self {
    case .bytes(let bytes), .ping(let bytes): bytes.readableBytes
    case .pong, .close, .violation: 0
    }
  }

  fileprivate var isEnd: Bool {
    switch self {
    case .close, .violation: true
    case .bytes, .ping, .pong: false
    }
  }
}
