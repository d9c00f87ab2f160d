/// The stream of the tester, as pieces of one DATA frame each. It is HTTP/2 (RFC 9113), because a server answers it with bytes of its own,
/// and so does an echo.
struct Stimulus: Sendable {
  /// Whether the end under test began its stream as an HTTP/2 client. The tester is then the server.
  var isServer = false

  /// Returns a piece. The first is the connection preface (§3.4) with SETTINGS and the acknowledgement of the peer's. Each other piece is a
  /// PING (§6.7), which the peer must answer with a frame of the same size.
  func piece(_ index: Int) -> [UInt8] {
    guard index == 0 else {
      return Self.frame(type: 6, flags: 0, [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: 8))
    }
    let settings = Self.frame(type: 4, flags: 0, []) + Self.frame(type: 4, flags: 1, [])
    return isServer ? settings : Self.clientPreface + settings
  }

  /// Whether the payload contains a PING of the tester without the flag that HTTP/2 sets in an answer.
  static func isEcho(_ payload: ArraySlice<UInt8>) -> Bool {
    let ping = frame(type: 6, flags: 0, [])
    let start: [UInt8] = [0, 0, 8] + ping.dropFirst(3)
    return payload.indices.contains { payload[$0...].starts(with: start) }
  }

  static let clientPreface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  private static func frame(type: UInt8, flags: UInt8, _ payload: [UInt8]) -> [UInt8] {
    [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, 0] + payload
  }
}
