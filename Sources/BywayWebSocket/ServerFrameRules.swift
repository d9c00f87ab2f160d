import NIOCore
import NIOWebSocket

/// Admits frames that a server may send to a client without extensions (RFC 6455 §5.1, §5.2).
final class ServerFrameRules: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias InboundOut = WebSocketFrame

  private static let opcodes: [WebSocketOpcode] = [.continuation, .text, .binary, .connectionClose, .ping, .pong]

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    let problem: String? =
      if frame.maskKey != nil {
        "masked a frame, which only clients do"
      } else if frame.rsv1 || frame.rsv2 || frame.rsv3 {
        "used an extension that was not requested"
      } else if !Self.opcodes.contains(frame.opcode) {
        "sent a frame of an unknown kind"
      } else {
        nil
      }
    if let problem {
      context.fireErrorCaught(WebSocketViolation(code: 1002, problem: problem))
    } else {
      context.fireChannelRead(data)
    }
  }
}

/// A protocol violation of the server that ends a WebSocket.
struct WebSocketViolation: Error {
  /// The code to close with (RFC 6455 §7.4.1).
  let code: Int
  /// The rest of a sentence that starts with "The server".
  let problem: String

  init(code: Int, problem: String) {
    self.code = code
    self.problem = problem
  }

  /// - Returns: `nil` for other errors.
  init?(_ error: any Error) {
    switch error {
    case let violation as WebSocketViolation:
      self = violation
    case NIOWebSocketError.invalidFrameLength, NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge:
      self.init(code: 1009, problem: "sent a message that is larger than the limit set here")
    case NIOWebSocketFrameAggregator.Error.tooManyFragments:
      self.init(code: 1009, problem: "cut a message into too many pieces")
    case is NIOWebSocketError:
      self.init(code: 1002, problem: "sent a control frame that is too long or cut")
    case is NIOWebSocketFrameAggregator.Error:
      self.init(code: 1002, problem: "mixed up the pieces of its messages")
    default:
      return nil
    }
  }
}
