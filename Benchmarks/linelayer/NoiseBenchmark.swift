// Measures the goodput of a noisy line with and without error correction, in virtual time, so the figures are the same on every
// machine. This is the line layer alone; HTTP costs some thousandths more.

import BywayLineEmulation

@testable import BywayLineLayer

/// Noise in every second period.
struct Intermittent: LineFault {
  static let name = "intermittent"
  var noise: BitFlips
  let period: UInt64

  func check() throws(LineConfigurationError) { try noise.check() }

  mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {
    // The bytes of one call span a short time compared with a period.
    guard let first = bytes.times.first, first / period % 2 == 1 else { return }
    noise.carry(&bytes, using: &random)
  }
}

struct Noisy {
  var name: String
  var faults: [any LineFault]
  var size = 1 << 20

  static let lines: [Noisy] =
    [0, 1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 6e-3].map {
      Noisy(name: "bit error rate \($0)", faults: $0 > 0 ? [BitFlips(rate: $0)] : [])
    } + [
      Noisy(name: "1 % of bytes dropped", faults: [DroppedBytes(rate: 0.01)]),
      Noisy(name: "0.1 % of bytes dropped", faults: [DroppedBytes(rate: 0.001)]),
      Noisy(name: "0.01 % dropped, 0.0003 of bits", faults: [DroppedBytes(rate: 0.0001), BitFlips(rate: 3e-4)]),
      Noisy(
        name: "bursts of 50 bytes in 10,000, 0.1 of bits",
        faults: [
          GilbertElliott(
            good: .init(bitErrorRate: 0, meanLength: 10_000), bad: .init(bitErrorRate: 0.1, meanLength: 50))
        ]),
      Noisy(name: "a log line each second", faults: [ForeignLogLine(every: .seconds(1))]),
      Noisy(
        name: "0 and 0.001, 2 s each", faults: [Intermittent(noise: BitFlips(rate: 1e-3), period: 2_000_000_000)],
        size: 2 << 20),
      Noisy(
        name: "0.00001 always and 0.003 in between, 2 s each",
        faults: [BitFlips(rate: 1e-5), Intermittent(noise: BitFlips(rate: 3e-3), period: 2_000_000_000)], size: 2 << 20),
    ]
}

@main
enum NoiseBenchmark {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    let only = arguments.first ?? ""
    print("| line at 921600 baud, 1 MiB | without | with |\n|---|---|---|")
    for line in Noisy.lines where line.name.contains(only) {
      print("| \(line.name) | \(shares(line, correction: 0)) | \(shares(line, correction: Strength.count)) |")
    }
    print(
      "\n| line at 115200 baud, 60 bytes there and 200 back, ms | without p50 | p99 | with p50 | p99 |\n|---|---|---|---|---|"
    )
    for rate in [0, 1e-4, 1e-3, 3e-3] where "latency".contains(only) {
      print(
        "| bit error rate \(rate) | \(latency(rate, correction: 0)) | \(latency(rate, correction: Strength.count)) |")
    }
    print("\n| first GET at 115200 baud, ms | without p50 | p90 | with p50 | p90 |\n|---|---|---|---|---|")
    for rate in [0, 1e-3, 3e-3] where "cold start".contains(only) {
      print(
        "| bit error rate \(rate) | \(coldStart(rate, correction: 0)) | \(coldStart(rate, correction: Strength.count)) |"
      )
    }
  }

  /// Returns the time from the opening of the first session of two new ends to the last byte of a response with a body of 13 bytes. The
  /// sizes are those of HTTP/2 with its preface and SETTINGS.
  private static func coldStart(_ rate: Double, correction: Int) -> String {
    let request = 130
    let response = 140
    var times: [Double] = []
    for seed in 1...400 as ClosedRange<UInt64> {
      var line = LineConfiguration(baud: 115_200, batch: .milliseconds(1))
      if rate > 0 { line.faults = [BitFlips(rate: rate)] }
      var configuration = LineLayerConfiguration()
      configuration.bytesPerSecond = line.baud / line.bitsPerCharacter
      configuration.correction = correction
      let simulation = Simulation(line, configuration: configuration, seed: seed)
      // The listener was started earlier, and no dialer received its HELLO.
      simulation.run(atMost: 0.1)
      simulation.restart(simulation.dialer)
      simulation.opensAgain = true
      let start = simulation.now
      var session: UInt32?
      let isDone = simulation.run(atMost: 30) {
        if let begun = simulation.dialer.session, begun != session {
          session = begun
          simulation.dialer.toSend = request
        }
        if simulation.listener.received == request { simulation.listener.toSend = response }
        return session != nil && simulation.dialer.received == response
      }
      times.append(isDone ? Double(simulation.now - start) / 1e6 : 30_000)
    }
    times.sort()
    return "\(digits(times[200], 1)) | \(digits(times[360], 1))"
  }

  /// Returns the median of five seeds.
  private static func shares(_ line: Noisy, correction: Int) -> String {
    let all = (1...5).map { share(line, correction: correction, seed: $0) }.sorted()
    return all[2] > 0 ? digits(all[2], 3) : "–"
  }

  private static func simulation(_ line: LineConfiguration, correction: Int, seed: UInt64) -> Simulation {
    var configuration = LineLayerConfiguration()
    configuration.bytesPerSecond = line.baud / line.bitsPerCharacter
    configuration.correction = correction
    let simulation = Simulation(line, configuration: configuration, seed: seed)
    simulation.opensAgain = true
    _ = simulation.run(atMost: 30) { simulation.dialer.events.contains(.confirmed) }
    // The line has carried this much before the measurement.
    simulation.listener.toSend = 20_000
    simulation.dialer.toSend = 2000
    _ = simulation.run(atMost: 60) { simulation.dialer.received == 20_000 && simulation.listener.received == 2000 }
    return simulation
  }

  private static func share(_ noisy: Noisy, correction: Int, seed: Int) -> Double {
    let line = LineConfiguration(baud: 921_600, batch: .milliseconds(1), faults: noisy.faults)
    let simulation = simulation(line, correction: correction, seed: UInt64(seed))
    let start = simulation.now
    let session = simulation.listener.session
    simulation.listener.toSend += noisy.size
    let end = simulation.listener.toSend
    let isDone = simulation.run(atMost: 60) { simulation.dialer.received == end }
    guard isDone, simulation.failure == nil, simulation.listener.session == session else { return 0 }
    return Double(noisy.size) / (Double(simulation.now - start) / 1e9) / line.byteRate
  }

  private static func latency(_ rate: Double, correction: Int) -> String {
    var line = LineConfiguration(baud: 115_200, batch: .milliseconds(1))
    if rate > 0 { line.faults = [BitFlips(rate: rate)] }
    let simulation = simulation(line, correction: correction, seed: 1)
    var times: [Double] = []
    for _ in 0..<300 {
      let start = simulation.now
      simulation.dialer.toSend += 60
      let asked = simulation.dialer.toSend
      guard simulation.run(atMost: 10, until: { simulation.listener.received == asked }) else { return "– | –" }
      simulation.listener.toSend += 200
      let answered = simulation.listener.toSend
      guard simulation.run(atMost: 10, until: { simulation.dialer.received == answered }) else { return "– | –" }
      times.append(Double(simulation.now - start) / 1e6)
      simulation.run(atMost: 0.05)
    }
    times.sort()
    return "\(digits(times[150], 1)) | \(digits(times[297], 1))"
  }

  private static func digits(_ value: Double, _ count: Int) -> String {
    let scale = (0..<count).reduce(1) { scale, _ in scale * 10 }
    let rounded = Int(value * Double(scale) + 0.5)
    let part = String(rounded % scale)
    return "\(rounded / scale)." + String(repeating: "0", count: count - part.count) + part
  }
}
