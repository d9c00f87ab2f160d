/// The tester's stream, cut into pieces of one DATA frame each. It is HTTP/2 (RFC 9113) that makes the end answer with bytes of its own,
/// as an echo does.
struct Stimulus: Sendable {
  /// The end under test began its stream as an HTTP/2 client does: the tester is the server then.
  var isServer = false

  /// The first piece is the connection preface (§3.4) with its SETTINGS and the acknowledgement of the peer's; each other is a
  /// PING (§6.7), which has to be answered with as many bytes.
  func piece(_ index: Int) -> [UInt8] {
    guard index == 0 else {
      return Self.frame(type: 6, flags: 0, [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: 8))
    }
    let settings = Self.frame(type: 4, flags: 0, []) + Self.frame(type: 4, flags: 1, [])
    return isServer ? settings : Self.clientPreface + settings
  }

  /// Whether this has a PING of the tester as it was sent: HTTP/2 sets a flag in the answer.
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
