import Byway

/// The question that a listener answers with a HELLO and then forgets (docs/wire-protocol.md, section 3). It neither begins nor disturbs a
/// session.
struct LineQuestion: Sendable {
  /// Four printable bytes, which an echoing terminal shows.
  let session: UInt32
  /// The frame, with a delimiter before it because the line was silent.
  let bytes: [UInt8]

  init() {
    session = (0..<4).reduce(0) { number, _ in number << 8 | UInt32.random(in: 0x61...0x7A) }
    bytes = GatewayQuestion.frame(session: session)
  }

  /// The echo of a terminal that shows control characters: ^B for the kind, ^A for the version, then the session.
  var asTerminalsEcho: [UInt8] {
    Array("^B^A".utf8) + (0..<4).map { UInt8(truncatingIfNeeded: session >> (24 - 8 * UInt32($0))) }
  }
}
