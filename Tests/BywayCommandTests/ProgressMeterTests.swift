import BywayTerminal
import NIOCore
import Testing

@testable import BywayCommand

@Suite("Progress meter") struct ProgressMeterTests {
  private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

  private func line(_ bytes: Int, of total: Int?, after time: TimeAmount, width: Int = 100) -> String {
    var meter = ProgressMeter(total: total, width: width, at: start)
    _ = meter.add(bytes, at: start)
    return meter.line(at: start + time)
  }

  @Test("the progress meter shows share, bytes, rate and remaining time")
  func known() {
    #expect(
      line(30 << 20, of: 120 << 20, after: .seconds(10))
        == " 25% [##########------------------------------]  30.0 MiB of 120.0 MiB  3.0 MiB/s  00:30 left")
  }

  @Test("the progress meter of a resumed transfer starts at the earlier position with the new rate")
  func resumed() {
    var meter = ProgressMeter(total: 120 << 20, from: 60 << 20, width: 100, at: start)
    _ = meter.add(30 << 20, at: start)
    #expect(
      meter.line(at: start + .seconds(10))
        == " 75% [##############################----------]  90.0 MiB of 120.0 MiB  3.0 MiB/s  00:10 left")
  }

  @Test("the progress meter shows no remaining time at the end")
  func complete() {
    #expect(
      line(1 << 20, of: 1 << 20, after: .seconds(2))
        == "100% [########################################]  1.0 MiB of 1.0 MiB  512.0 KiB/s")
  }

  @Test("the progress meter shows bytes, rate and time if the length is unknown")
  func unknown() {
    #expect(line(3 << 20, of: nil, after: .seconds(75)) == "3.0 MiB  41.0 KiB/s  01:15")
    #expect(line(1, of: nil, after: .hours(2)) == "1 B  0 B/s  02:00:00")
  }

  @Test("the progress meter never reaches the terminal's last column", arguments: [1, 2, 10, 20, 40, 60, 80, 120])
  func narrow(_ width: Int) {
    #expect(line(30 << 20, of: 120 << 20, after: .seconds(10), width: width).count < width)
    #expect(line(30 << 20, of: nil, after: .seconds(10), width: width).count < width)
  }

  @Test("the progress meter accepts a body longer than declared")
  func excess() {
    #expect(line(4, of: 2, after: .seconds(2)).hasPrefix("100% [####"))
    #expect(line(0, of: 0, after: .zero) == "0 B  0 B/s  00:00")
  }

  @Test("the progress meter appears after 1 MiB or 1 s, not for shorter transfers")
  func appearance() {
    var small = ProgressMeter(total: 1000, width: 80, at: start)
    #expect(small.add(1000, at: start + .milliseconds(999)) == nil)
    #expect(!small.isShown)
    #expect(small.add(0, at: start + .seconds(1)) != nil)
    var large = ProgressMeter(total: nil, width: 80, at: start)
    #expect(large.add(1 << 20, at: start) != nil)
    #expect(large.isShown)
  }

  @Test("the progress meter is drawn at most ten times a second")
  func interval() {
    var meter = ProgressMeter(total: nil, width: 80, at: start)
    let drawn = (0..<1000).filter { meter.add(1 << 20, at: start + .milliseconds(Int64($0))) != nil }
    #expect(drawn == [0, 100, 200, 300, 400, 500, 600, 700, 800, 900])
  }

  @Test(
    "byte counts are formatted with binary units",
    arguments: [
      (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_048_575, "1.0 MiB"), (1_536_000, "1.5 MiB"),
      (1 << 30, "1.0 GiB"), (Int.max, "8388608.0 TiB"),
    ])
  func bytes(_ count: Int, _ text: String) {
    #expect(ByteCount.text(count) == text)
  }

  @Test("decimals are rounded", arguments: [(1.25, 1, "1.3"), (0.999, 2, "1.00"), (2.5, 0, "3"), (-0.001, 2, "0.00")])
  func decimals(_ value: Double, _ digits: Int, _ text: String) {
    #expect(Decimal.text(value, digits: digits) == text)
  }
}
