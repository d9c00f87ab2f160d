import LineLayer
import NIOCore

/// What the demo's line carries now, and has repaired, as a function of time and of what the line layers at both ends say.
struct DemoMeter: Sendable {
  private struct Sample {
    var time: NIODeadline
    var down: UInt64
    var up: UInt64
  }

  /// Rates are of the latest second: shorter jumps about, longer feels late.
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

  /// There is more than the probe's few bytes.
  var isBusy: Bool { down + up > 200 }

  /// - Parameters:
  ///   - host: `nil`, as `device`, where there is no session: then nothing has changed.
  mutating func add(host: LineStatistics?, device: LineStatistics?, at now: NIODeadline) {
    self.host = host ?? self.host
    self.device = device ?? self.device
    samples.append(Sample(time: now, down: self.host.receivedPayload, up: self.device.receivedPayload))
    // The first one kept is the latest that is at least that old.
    while samples.count > 2, now - samples[1].time >= Self.span { samples.removeFirst() }
  }

  private func rate(_ bytes: KeyPath<Sample, UInt64>) -> Int {
    guard let first = samples.first, let last = samples.last, last.time > first.time else { return 0 }
    let count = last[keyPath: bytes] - min(first[keyPath: bytes], last[keyPath: bytes])
    return Int(Double(count) / (Double((last.time - first.time).nanoseconds) / 1e9))
  }
}
