import BywayLineLayer

/// The frames, and other runs of bytes, received on a line.
struct HeardFrames: Sendable {
  /// The maximum length of a run that is kept. None of the expected frames is longer.
  private static let longestRun = 4096

  private(set) var frames: [Frame] = []
  /// Runs between two delimiters that are neither frames nor text.
  private(set) var damagedRuns: [[UInt8]] = []
  /// The number of runs into which another program has written.
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

  /// The version that a listener reports.
  var helloVersion: UInt8? {
    for case .hello(let version, _, _, _, _) in frames { return version }
    return nil
  }

  var helloCount: Int { frames.count { if case .hello = $0 { true } else { false } } }

  /// Sessions begun by the peer, or this end's own as an echo.
  var sessions: [UInt32] {
    frames.compactMap { if case .open(_, let id, _, _, _, _) = $0 { id.session } else { nil } }
  }

  func hasReset(_ session: UInt32, _ reason: ResetReason) -> Bool {
    frames.contains(.reset(session: session, reason: reason))
  }
}

extension Collection<UInt8> {
  /// Whether it has a run of at least 12 printable bytes, which frames seldom have.
  var hasText: Bool {
    var run = 0
    return contains { byte in
      run = (0x20..<0x7F).contains(byte) ? run + 1 : 0
      return run >= 12
    }
  }

  /// Whether most of it is printable.
  var isText: Bool {
    let printable = count(where: ForeignText.isText)
    return count >= 8 && printable * 10 >= count * 9
  }
}
