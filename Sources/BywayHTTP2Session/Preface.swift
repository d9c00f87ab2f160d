import BywayHTTPWire
import BywayPrimitives

/// Checks the first bytes from the peer before nghttp2 does, so that the error can name the peer's protocol.
struct Preface {
  private let expectsMagic: Bool
  private var held: [UInt8] = []
  private(set) var isSettled = false

  private static let quoteLimit = 32
  /// The bytes kept for the identification: "HTTP/1.1 400", "device login:".
  private static let heldLimit = 64

  init(role: HTTP2Session.Role) {
    expectsMagic = role == .server
  }

  /// Returns the failure if the bytes are not HTTP/2; `nil` if they may be. The bytes still go to nghttp2.
  mutating func judge(_ bytes: UnsafeRawBufferPointer) -> HTTP2Failure? {
    guard !isSettled else { return nil }
    held.append(contentsOf: bytes.prefix(Self.heldLimit - held.count))
    guard expectsMagic ? looksLikeMagic : looksLikeSettings else {
      isSettled = true
      return failure("began with \(quote)")
    }
    isSettled = held.count >= (expectsMagic ? ClientPreface.bytes.count : FrameHeader.size)
    return nil
  }

  /// Returns the failure if too few bytes arrived to recognize HTTP/2 and no more will.
  /// - Parameter end: "ended the link"
  func unsettled(_ end: String) -> HTTP2Failure? {
    isSettled || held.isEmpty ? nil : failure("sent \(quote) and \(end)")
  }

  private func failure(_ what: String) -> HTTP2Failure {
    HTTP2Failure(.notHTTP2(heard: held), .protocolError, "The far end does not speak HTTP/2: it \(what).")
  }

  private var looksLikeMagic: Bool {
    zip(held, ClientPreface.bytes).allSatisfy { $0 == $1 }
  }

  /// A server's first frame is SETTINGS (RFC 9113 §3.4), which is never longer than a page.
  private var looksLikeSettings: Bool {
    if let first = held.first, first != 0 { return false }
    guard held.count >= FrameHeader.size else { return true }
    let header = held.withUnsafeBytes { FrameHeader($0) }
    return header.type == FrameHeader.settings && header.flags & 0x1 == 0 && header.streamID == 0
  }

  private var quote: String { String(quoting: held, limit: Self.quoteLimit) }
}
