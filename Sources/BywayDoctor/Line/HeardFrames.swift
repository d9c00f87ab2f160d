import LineLayer

/// What was heard on a line, as frames where it is any.
struct HeardFrames: Sendable {
  /// Longer runs are none of the few that are waited for.
  private static let longestRun = 4096

  private(set) var frames: [Frame] = []
  /// What stands between two delimiters, and is neither a frame nor text.
  private(set) var damagedRuns: [[UInt8]] = []
  /// Those into which somebody else has written.
  private(set) var interruptedRuns = 0
  private var partial: [UInt8] = []

  init(_ bytes: [UInt8] = []) { hear(bytes) }

  mutating func hear(_ bytes: [UInt8]) {
    for byte in bytes {
      if byte == 0 {
        take()
      } else if partial.count < Self.longestRun {
        partial.append(byte)
      }
    }
  }

  private mutating func take() {
    guard !partial.isEmpty else { return }
    var run = partial
    partial = []
    let received = run
    if let frame = FrameCodec.decode(&run, seal: nil) {
      frames.append(frame)
    } else if received.hasText {
      interruptedRuns += received.isText ? 0 : 1
    } else {
      damagedRuns.append(received)
    }
  }

  /// The version that a listener says it speaks.
  var helloVersion: UInt8? {
    for case .hello(let version, _, _, _) in frames { return version }
    return nil
  }

  var helloCount: Int { frames.count { if case .hello = $0 { true } else { false } } }

  /// Begun by somebody at the other end, or heard back.
  var sessions: [UInt32] {
    frames.compactMap { if case .open(_, let id, _, _, _) = $0 { id.session } else { nil } }
  }

  func hasReset(_ session: UInt32, _ reason: ResetReason) -> Bool {
    frames.contains(.reset(session: session, reason: reason))
  }
}

extension Collection<UInt8> {
  /// A word or two of it can be printed, which bytes of a frame seldom can.
  var hasText: Bool {
    var run = 0
    return contains { byte in
      run = (0x20..<0x7F).contains(byte) ? run + 1 : 0
      return run >= 12
    }
  }

  /// Most of it can be printed.
  var isText: Bool {
    let printable = count(where: ForeignText.isText)
    return count >= 8 && printable * 10 >= count * 9
  }
}
