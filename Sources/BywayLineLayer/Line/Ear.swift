/// An estimate of the noise that an end receives, by which the other end chooses a ``Strength``.
struct Ear {
  private var rate = ErrorRate(halfAnErrorIn: 65_536)
  /// Bytes of frames that arrived as they were sent, and were not weighed yet: on a clean line that costs nothing.
  private var intact: UInt64 = 0
  /// Two for each frame that bore correction and could not be mended, less one for each that could.
  private var failures = 0
  /// Frames without correction since then.
  private var others = 0

  private var mended = 0

  /// Frames that bear correction do arrive.
  var mends: Bool { mended >= 4 && failures < 4 }

  private static let enough: UInt64 = 4096
  /// On a line that loses bytes most such frames fail, and stronger correction does not help.
  private static let mostFailures = 32
  private static let enoughOthers = 32

  var noise: Noise {
    failures >= Self.mostFailures
      ? .beyondMending : Noise(halfErrors: rate.lasting.halfErrors, in: rate.lasting.bytes)
  }

  /// A frame without correction.
  mutating func hear(intact count: Int) {
    others += 1
    if others >= Self.enoughOthers { failures = 0 }
    intact += UInt64(count)
    if intact >= Self.enough { weigh() }
  }

  /// A run of bytes that is no frame.
  mutating func hear(damaged count: Int) {
    weigh()
    rate.note(ErrorRate.Evidence(halfErrors: 2, bytes: UInt64(count / 2 + 1)))
  }

  mutating func hear(mended errors: Int, of count: Int) {
    others = 0
    // One in which nothing was wrong would have arrived without.
    if errors > 0 {
      failures = max(failures - 1, 0)
      mended = min(mended + 1, 4)
    }
    note(errors, of: count)
  }

  /// Takes a code word with more wrong bytes than can be corrected.
  mutating func hear(beyondMending errors: Int, of count: Int) {
    others = 0
    // One that bore less than is asked for by now would have been lost on a line that correction helps, too.
    let isStrong = UInt64(errors) * rate.lasting.bytes > rate.lasting.halfErrors * UInt64(count)
    if isStrong { failures = min(failures + 2, Self.mostFailures) }
    if failures == Self.mostFailures { mended = 0 }
    note(errors, of: count)
  }

  private mutating func note(_ errors: Int, of count: Int) {
    weigh()
    rate.note(ErrorRate.Evidence(halfErrors: UInt64(2 * errors), bytes: UInt64(count)))
  }

  private mutating func weigh() {
    guard intact > 0 else { return }
    rate.note(ErrorRate.Evidence(halfErrors: 0, bytes: intact))
    intact = 0
  }
}
