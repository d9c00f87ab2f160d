import BywayLineLayer
import NIOCore

/// The current rates and the repairs of the demo's line, computed from the statistics of the line layers at both ends.
struct DemoMeter: Sendable {
  private struct Sample {
    var time: NIODeadline
    var down: UInt64
    var up: UInt64
  }

  /// The time over which rates are measured: a shorter one makes them fluctuate, a longer one delays them.
  private static let span = TimeAmount.seconds(1)

  private var samples: [Sample] = []
  private var host = LineStatistics()
  private var device = LineStatistics()

  init() {}

  /// Frames that were sent again, by both ends.
  var repaired: Int { Int(host.repeatedFrames + device.repeatedFrames) }
  /// Bytes of HTTP/2 in a second, towards the user and towards the device.
  var down: Int { rate(\.down) }
  var up: Int { rate(\.up) }

  /// Whether there is more traffic than the probe's few bytes.
  var isBusy: Bool { down + up > 200 }

  /// - Parameters:
  ///   - host: `nil`, like `device`, if there is no session: then nothing has changed.
  mutating func add(host: LineStatistics?, device: LineStatistics?, at now: NIODeadline) {
    self.host = host ?? self.host
    self.device = device ?? self.device
    samples.append(Sample(time: now, down: self.host.receivedPayload, up: self.device.receivedPayload))
    // The first sample to keep is the latest that is at least that old.
    while samples.count > 2, now - samples[1].time >= Self.span { samples.removeFirst() }
  }

  private func rate(_ bytes: KeyPath<Sample, UInt64>) -> Int {
    guard let first = samples.first, let last = samples.last, last.time > first.time else { return 0 }
    let count = last[keyPath: bytes] - min(first[keyPath: bytes], last[keyPath: bytes])
    return Int(Double(count) / (Double((last.time - first.time).nanoseconds) / 1e9))
  }
}
