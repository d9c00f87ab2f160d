import BywayLineEmulation

/// Returns bytes that depend on their position.
func pattern(_ count: Int) -> [UInt8] { pattern(0..<count) }

func pattern(_ range: Range<Int>) -> [UInt8] {
  range.map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
}

struct Carried {
  var bytes: [UInt8] = []
  /// The time at which each byte could be read.
  var times: [UInt64] = []
  var counters = LineCounters()
}

/// Sends bytes in one direction as fast as the line accepts them, and reads each when it arrives.
func carry(_ bytes: [UInt8], over configuration: LineConfiguration, seed: UInt64 = 1) -> Carried {
  var line = EmulatedLine(configuration, seed: seed)
  var result = Carried()
  var sent = 0
  var now: UInt64 = 0
  while true {
    sent += line.send(bytes[sent...], at: now)
    let arrived = line.receive(at: now)
    result.bytes += arrived
    result.times += Array(repeating: now, count: arrived.count)
    let next = [line.nextArrival, line.nextCutChange].compactMap(\.self).min()
    guard let next, sent < bytes.count || line.counters.inFlight > 0 else { break }
    now = next
  }
  result.counters = line.counters
  return result
}

/// Applies one fault to bytes of 100 microseconds each, in pieces.
func apply(_ fault: some LineFault, to bytes: [UInt8], piece: Int = .max, seed: UInt64 = 1) -> Carried {
  var fault = fault
  var random = SplitMix64(seed: seed)
  var result = Carried()
  var start = 0
  while start < bytes.count {
    let end = min(bytes.count, start + min(piece, bytes.count))
    var run = WireBytes(Array(bytes[start..<end]), times: (start..<end).map { UInt64($0) * 100_000 })
    fault.carry(&run, using: &random)
    result.bytes += run.values
    result.times += run.times
    start = end
  }
  return result
}

func flippedBits(_ left: [UInt8], _ right: [UInt8]) -> Int {
  zip(left, right).reduce(0) { $0 + ($1.0 ^ $1.1).nonzeroBitCount }
}
