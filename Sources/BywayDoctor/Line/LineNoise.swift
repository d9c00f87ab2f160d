import Glibc

/// What became of frames of one length in one direction.
struct LineNoise: Sendable {
  /// As they stand on the wire.
  let frameBytes: Int
  let frames: Int
  let lost: Int

  var bytes: Int { frames * frameBytes }

  /// A frame is lost by its first error, so that lost frames are fewer than errors.
  var perMillionBytes: Int {
    guard lost > 0 else { return 0 }
    let survived = max(Double(frames - lost), 0.5) / Double(frames)
    return Int(-log(survived) / Double(frameBytes) * 1e6)
  }

  /// How many per cent of a line's rate a body gets, by errors in a million bytes: what Benchmarks/README.md has measured.
  /// - Parameter losesBytes: correction mends wrong bytes only.
  static func goodput(ofErrors perMillion: Int, losesBytes: Bool) -> Int {
    let wrong = [(0, 98), (80, 97), (800, 95), (2400, 93), (8000, 91), (24_000, 85), (80_000, 40), (1_000_000, 0)]
    let lost = [(0, 98), (10_000, 50), (50_000, 10), (1_000_000, 0)]
    let measured = losesBytes ? lost : wrong
    guard let after = measured.firstIndex(where: { $0.0 > perMillion }), after > 0 else { return 0 }
    let (low, high) = (measured[after - 1], measured[after])
    return low.1 - (low.1 - high.1) * (perMillion - low.0) / (high.0 - low.0)
  }
}

extension LineNoise: CustomStringConvertible {
  var description: String {
    lost == 0
      ? "no errors in \(bytes) bytes" : "\(perMillionBytes) errors in a million bytes (\(lost) frames of \(frames))"
  }
}
