// Measures the line layer alone: two ends that send, encode, decode and deliver, without a line or faults between them.

import BywayLineLayer
import Glibc

/// Two ends that exchange their frames directly.
struct Ends {
  private static let round = 64 * 1024

  var sender: LineLayer
  var receiver: LineLayer
  private var now: UInt64 = 1
  private(set) var delivered = 0
  private var wire: [UInt8] = []
  private let payload: [UInt8]

  init(payload: [UInt8], configuration: LineLayerConfiguration) {
    self.payload = payload
    sender = LineLayer(.dialer, configuration: configuration, at: 0)
    receiver = LineLayer(.listener(incarnation: 7), configuration: configuration, at: 0)
    sender.open(session: 1, at: 0)
    for _ in 0..<4 { turn(fills: false) }
  }

  mutating func turn(fills: Bool) {
    now += 100_000
    var offset = 0
    while wire.count < Self.round {
      let room = fills ? min(sender.room(at: now), payload.count - offset) : 0
      if room > 0 {
        payload.withUnsafeBytes { sender.send(UnsafeRawBufferPointer(rebasing: $0[offset..<(offset + room)])) }
        offset += room
      }
      guard sender.nextTransmit(at: now, into: &wire) else { break }
    }
    pass(to: \.receiver)
    while receiver.nextTransmit(at: now, into: &wire) {}
    pass(to: \.sender)
  }

  private mutating func pass(to end: WritableKeyPath<Ends, LineLayer>) {
    wire.withUnsafeBytes { self[keyPath: end].receive($0, at: now) }
    wire.removeAll(keepingCapacity: true)
    while let event = self[keyPath: end].nextEvent() {
      guard case .received(let bytes) = event else { continue }
      delivered += bytes.count
      self[keyPath: end].consumed(bytes.count, at: now)
    }
  }
}

@main
enum LineLayerBenchmark {
  /// The bytes of each payload that are delivered in a measurement.
  private static let amount = 400_000_000

  static func main() {
    var state: UInt64 = 1
    let noise = (0..<65_536).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 56)
    }
    let text = (0..<65_536).map { UInt8(0x61 + $0 % 26) }
    let zeros = [UInt8](repeating: 0, count: 65_536)
    for (name, payload) in [("noise", noise), ("text", text), ("zeros", zeros)] { measure(name, payload, 2048) }
    measure("noise, frames of 230 bytes", noise, 230)
  }

  private static func measure(_ name: String, _ payload: [UInt8], _ largestPayload: Int) {
    var configuration = LineLayerConfiguration.defaults
    configuration.largestPayload = largestPayload
    var best = 0.0
    for _ in 0..<3 {
      var ends = Ends(payload: payload, configuration: configuration)
      let start = seconds()
      while ends.delivered < amount / 4 { ends.turn(fills: true) }
      best = max(best, Double(ends.delivered) / (seconds() - start) / 1e6)
    }
    print("\(name): \(Int(best)) MB/s")
  }

  /// Returns the processor time of this process, without that of other programs.
  private static func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
