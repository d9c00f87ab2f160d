import BywayLibC

/// The loss of frames of one length in one direction.
struct LineNoise: Sendable {
  /// The length of each frame on the wire.
  let frameBytes: Int
  let frames: Int
  let lost: Int

  var bytes: Int { frames * frameBytes }

  /// The estimated number of errors in a million bytes. One error suffices to lose a frame, so there are more errors than lost frames.
  var perMillionBytes: Int {
    guard lost > 0 else { return 0 }
    let survived = max(Double(frames - lost), 0.5) / Double(frames)
    return Int(-log(survived) / Double(frameBytes) * 1e6)
  }

  /// Returns the goodput in per cent of the line's rate, by errors in a million bytes, as measured in Benchmarks/README.md.
  /// - Parameter losesBytes: whether bytes are lost: error correction repairs wrong bytes only.
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
