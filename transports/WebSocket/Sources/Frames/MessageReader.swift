package import NIOCore
package import NIOWebSocket

/// The rules for the frames that a peer may send on a link (RFC 6455 §5). No I/O and no clock: frames in, outcomes out.
package struct MessageReader {
  package enum Outcome: Sendable, Hashable {
    /// Bytes of the link; perhaps none.
    case bytes(ByteBuffer)
    case ping(ByteBuffer)
    case pong
    case close(Closure)
    case violation(WebSocketViolation)
  }

  /// The peer's close frame (§5.5.1).
  package struct Closure: Sendable, Hashable {
    /// 1005 if the peer gave none.
    package let code: Int
    package let reason: String

    /// Whether the peer has ended its direction as planned: 1000, 1001 (it shuts down) or no code.
    package var isOrdinary: Bool { code == 1000 || code == 1001 || code == 1005 }
  }

  private enum State {
    case betweenMessages, withinMessage, ended
  }

  private let peerMasks: Bool
  private var state = State.betweenMessages

  /// - Parameter peerMasks: whether the peer is the client, which must mask its frames (§5.1).
  package init(peerMasks: Bool) {
    self.peerMasks = peerMasks
  }

  package mutating func receive(_ frame: WebSocketFrame) -> Outcome {
    if case .ended = state { return .bytes(ByteBuffer()) }
    let outcome = read(frame)
    switch outcome {
    case .close, .violation: state = .ended
    case .bytes, .ping, .pong: break
    }
    return outcome
  }

  private mutating func read(_ frame: WebSocketFrame) -> Outcome {
    guard (frame.maskKey != nil) == peerMasks else {
      return violation(1002, peerMasks ? "did not mask a frame" : "masked a frame, which only clients do")
    }
    guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return violation(1002, "used an extension that was not agreed") }
    switch (frame.opcode, state) {
    case (.binary, .betweenMessages), (.continuation, .withinMessage):
      state = frame.fin ? .betweenMessages : .withinMessage
      return .bytes(Self.content(frame))
    case (.binary, _): return violation(1002, "began a message within another")
    case (.continuation, _): return violation(1002, "continued a message that it had not begun")
    case (.text, _): return violation(1003, "sent a text: links carry binary messages only")
    case (.ping, _): return .ping(Self.content(frame))
    case (.pong, _): return .pong
    case (.connectionClose, _): return closure(Self.content(frame))
    default: return violation(1002, "sent a frame of an unknown kind")
    }
  }

  private func closure(_ content: ByteBuffer) -> Outcome {
    var content = content
    guard content.readableBytes > 0 else { return .close(Closure(code: 1005, reason: "")) }
    guard let code = content.readInteger(as: UInt16.self).map(Int.init), Self.isSent(code),
      let reason = String(validating: content.readableBytesView, as: UTF8.self)
    else { return violation(1002, "closed with an invalid code or reason") }
    return .close(Closure(code: code, reason: reason))
  }

  /// Whether a code may be in a frame: 1004 to 1006 and 1015 may not (§7.4).
  private static func isSent(_ code: Int) -> Bool {
    (1000...1003).contains(code) || (1007...1014).contains(code) || (3000...4999).contains(code)
  }

  private static func content(_ frame: WebSocketFrame) -> ByteBuffer {
    var content = frame.data
    if let key = frame.maskKey { content.mask(with: MaskingKey(key)) }
    return content
  }

  private func violation(_ code: Int, _ problem: String) -> Outcome {
    .violation(WebSocketViolation(code: code, problem: problem))
  }
}
