import BywayLineLayer

/// The question that a listener answers with a HELLO and then forgets (docs/wire-protocol.md, section 3). It neither begins nor disturbs a
/// session.
struct LineQuestion: Sendable {
  /// Four printable bytes, which an echoing terminal shows.
  let session: UInt32
  /// The frame, with a delimiter before it because the line was silent.
  let bytes: [UInt8]

  init() {
    session = (0..<4).reduce(0) { number, _ in number << 8 | UInt32.random(in: 0x61...0x7A) }
    var scratch: [UInt8] = []
    var bytes: [UInt8] = [0]
    let configuration = LineLayerConfiguration.defaults
    FrameCodec.encode(
      .open(
        version: FrameCodec.version, session: SessionID(session: session, incarnation: 0),
        largestPayload: UInt16(truncatingIfNeeded: configuration.largestPayload),
        window: UInt16(truncatingIfNeeded: configuration.window / 16), correction: 0),
      seal: nil, scratch: &scratch, into: &bytes)
    self.bytes = bytes
  }

  /// The echo of a terminal that shows control characters: ^B for the kind, ^A for the version, then the session.
  var asTerminalsEcho: [UInt8] {
    Array("^B^A".utf8) + (0..<4).map { UInt8(truncatingIfNeeded: session >> (24 - 8 * UInt32($0))) }
  }
}
