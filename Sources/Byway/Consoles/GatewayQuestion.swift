import BywayLineLayer

/// The question whether a gateway listens on a line, and the frames that answer it.
///
/// A listener answers with HELLO whether or not it has a session, and forgets the question (docs/wire-protocol.md, section 3).
package struct GatewayQuestion {
  /// Characters that a terminal obeys: those that end, stop or quit a program, stop the output, or quote the next one.
  private static let obeyed: [UInt8] = [0x03, 0x04, 0x11, 0x12, 0x13, 0x16, 0x1A, 0x1C]
  /// No expected frame is longer.
  private static let longestRun = 64

  /// The frame, between two delimiters.
  let bytes: [UInt8]
  private var partial: [UInt8] = []
  /// Whether a gateway was heard.
  private(set) var isAnswered = false

  /// - Parameter seed: a random number.
  init(seed: UInt32) {
    let frames = (0..<256).lazy.map { Self.frame(session: seed &+ $0 &* 0x9E37_79B1) }
    bytes = frames.first { frame in !frame.contains { Self.obeyed.contains($0) } } ?? Self.frame(session: 0x6162_6364)
  }

  /// Returns the frame for a session, with a delimiter before it because the line was silent.
  package static func frame(session: UInt32) -> [UInt8] {
    var scratch: [UInt8] = []
    var bytes: [UInt8] = [0]
    let configuration = LineLayerConfiguration.defaults
    FrameCodec.encode(
      .open(
        version: FrameCodec.version, session: SessionID(session: session, incarnation: 0),
        largestPayload: UInt16(clamping: configuration.largestPayload),
        window: UInt16(clamping: configuration.window / 16),
        correction: 0),
      seal: nil, scratch: &scratch, into: &bytes)
    return bytes
  }

  /// The same question without what was heard.
  var restarted: GatewayQuestion {
    var question = self
    question.partial = []
    question.isAnswered = false
    return question
  }

  /// Looks for a frame of a gateway. An echo of the question is none.
  mutating func receive(_ received: some Collection<UInt8>) {
    for byte in received {
      guard byte == 0 else {
        if partial.count <= Self.longestRun { partial.append(byte) }
        continue
      }
      if partial.count <= Self.longestRun { take() }
      partial.removeAll(keepingCapacity: true)
    }
  }

  private mutating func take() {
    guard !partial.isEmpty else { return }
    switch FrameCodec.decode(&partial, seal: nil) {
    case .hello, .poll: isAnswered = true
    default: break
    }
  }
}
