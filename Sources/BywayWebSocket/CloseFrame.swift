import Byway
import NIOCore

/// The content of a close frame (RFC 6455 §5.5.1): nothing, or a code and a reason.
struct CloseFrame: Sendable {
  /// The maximum size of the reason in a control frame, after the code.
  private static let reasonLimit = 123

  let data: ByteBuffer

  /// Creates a frame that a user sends.
  /// - Throws: `BywayError` if users must not send the code or the reason.
  init(code: Int, reason: String) throws(BywayError) {
    guard code == 1000 || (3000...4999).contains(code) else {
      throw BywayError(
        .invalidRequest, "\(code) is not a code to close with: take 1000, or 3000 to 4999.", processing: .none)
    }
    guard reason.utf8.count <= Self.reasonLimit else {
      throw BywayError(
        .invalidRequest, "The reason to close is longer than \(Self.reasonLimit) bytes.", processing: .none)
    }
    self.init(code, reason)
  }

  init(_ code: Int, _ reason: String = "") {
    var data = ByteBuffer(integer: UInt16(truncatingIfNeeded: code))
    data.writeString(reason)
    self.data = data
  }

  /// Creates the answer to a server's frame (§5.5.1).
  init(answering data: ByteBuffer) {
    self.data = ByteBuffer(data.readableBytesView.prefix(2))
  }

  /// Returns the meaning of a server's frame; `nil` if it is invalid (§7.4.1, §7.4.2).
  static func closure(_ data: ByteBuffer) -> WebSocket.Closure? {
    var data = data
    guard data.readableBytes > 0 else { return WebSocket.Closure(code: 1005, reason: "") }
    guard let code = data.readInteger(as: UInt16.self).map(Int.init), isSent(code),
      let reason = String(validating: data.readableBytesView, as: UTF8.self)
    else { return nil }
    return WebSocket.Closure(code: code, reason: reason)
  }

  /// Whether a code may be sent: 1004 to 1006 and 1015 may not.
  private static func isSent(_ code: Int) -> Bool {
    (1000...1003).contains(code) || (1007...1014).contains(code) || (3000...4999).contains(code)
  }
}
