import NIOCore
import NIOWebSocket

/// A violation of the protocol by the peer, which ends the link.
package struct WebSocketViolation: Error, Sendable, Hashable {
  /// The code to close with (RFC 6455 §7.4.1).
  package let code: Int
  /// The rest of a sentence whose subject is the peer.
  package let problem: String

  init(code: Int, problem: String) {
    self.code = code
    self.problem = problem
  }

  /// - Returns: `nil` for errors that do not come from a frame.
  package init?(_ error: any Error) {
    switch error {
    case NIOWebSocketError.invalidFrameLength:
      self.init(code: 1009, problem: "sent a frame of more than \(FrameLimits.received >> 10) KiB")
    case is NIOWebSocketError:
      self.init(code: 1002, problem: "sent a control frame that is too long or in pieces")
    default:
      return nil
    }
  }
}
