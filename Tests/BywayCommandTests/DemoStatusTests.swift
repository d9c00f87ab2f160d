import BywayLineLayer
import BywayTerminal
import NIOCore
import Testing

@testable import BywayDemo

@Suite("Status line of the demo") struct DemoStatusTests {
  private let plain = TextStyle(isColourful: false)

  private var status: DemoStatus {
    var status = DemoStatus()
    status.down = 11_000
    status.latency = .milliseconds(14)
    status.noise = "1e-5"
    status.wrongBits = 143
    status.repaired = 57
    return status
  }

  @Test("a wide terminal shows everything, and a narrow one omits the least important parts")
  func widths() {
    let traffic = "↓ 10.7 KiB/s 95%   14 ms"
    let rest = "143 errors, 57 resent   p pull  e 1e-5  q quit"
    #expect(status.text(width: 200, style: plain) == "\(traffic)   ↑ 0.0 KiB/s   \(rest)")
    #expect(status.text(width: 80, style: plain) == "\(traffic)   \(rest)")
    #expect(status.text(width: 60, style: plain) == "\(traffic)   p pull  e 1e-5  q quit")
    #expect(status.text(width: 30, style: plain) == traffic)
    for width in 0...200 { #expect(status.text(width: width, style: plain).count < max(width, 1)) }
  }

  @Test("an unplugged cable is shown in place of the traffic")
  func pulled() {
    var status = status
    status.pulledFor = .milliseconds(3210)
    #expect(status.text(width: 80, style: plain).hasPrefix("cable out for 3.2 s   "))
    #expect(status.text(width: 80, style: plain).contains("p plug"))
    #expect(status.text.hasSuffix("57 frames sent again, cable out for 3.2 s"))
  }

  @Test("a row of an exchange fits a terminal of 80 columns, whatever its path, method and end are")
  func rows() {
    let exchange = PrintedExchange(
      method: "PROPPATCH", path: "/\(String(repeating: "a", count: 100))", status: 200, bytes: 1 << 30,
      time: .seconds(3600), isComplete: false)
    #expect(exchange.line(plain).count < 80 && exchange.line(plain).hasSuffix("  cut off"))
    #expect(PrintedExchange.heading.count < 80)
  }

  @Test("rates cover the latest second, and repairs count both ends")
  func meter() {
    var meter = DemoMeter()
    var host = LineStatistics()
    var device = LineStatistics()
    var now = NIODeadline.uptimeNanoseconds(5_000_000_000)
    meter.add(host: host, device: nil, at: now)
    #expect(meter.down == 0 && !meter.isBusy)
    for _ in 1...30 {
      now = now + .milliseconds(100)
      host.receivedPayload += 1000
      device.receivedPayload += 50
      meter.add(host: host, device: device, at: now)
    }
    #expect(meter.down == 10_000 && meter.up == 500 && meter.isBusy)
    host.repeatedFrames = 3
    device.repeatedFrames = 4
    now = now + .seconds(1)
    meter.add(host: host, device: device, at: now)
    #expect(meter.down == 0 && meter.repaired == 7)
    // Without a session nothing is known, and earlier counts are kept.
    meter.add(host: nil, device: nil, at: now + .seconds(1))
    #expect(meter.down == 0 && meter.up == 0 && meter.repaired == 7)
  }

  @Test("a pending probe counts as latency once it takes longer than the last one")
  func probe() async {
    let probe = DemoProbe()
    #expect(probe.latency == nil)
    let answered = Task { await probe.run { .seconds(7) } }
    while probe.latency == nil { await Task.yield() }
    #expect(probe.latency == .seconds(7))
    answered.cancel()
  }

  @Test("the noise level rises step by step, then turns off")
  func noise() {
    let noise = DemoNoise()
    var names: [String] = []
    for _ in 0...DemoNoise.levels.count {
      names.append(noise.level.name)
      noise.advance()
    }
    #expect(names == ["1e-5", "1e-4", "1e-3", "none", "1e-5"])
  }
}
