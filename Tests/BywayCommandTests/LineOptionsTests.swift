import BywayLineEmulation
import BywayTerminal
import Testing

@testable import BywayCommand

@Suite("Line options") struct LineOptionsTests {
  private func configurations(_ arguments: String...) throws -> (a: LineConfiguration, b: LineConfiguration) {
    try LineOptions.parse(arguments).configurations()
  }

  @Test(
    "a time is in seconds, or has a unit",
    arguments: [("5ms", 5_000_000), ("1.5s", 1_500_000_000), ("200us", 200_000), ("2", 2_000_000_000), ("0", 0)])
  func times(_ text: String, _ nanoseconds: Int64) {
    #expect(Span(argument: text)?.duration == .nanoseconds(nanoseconds))
  }

  @Test(
    "an invalid time is rejected", arguments: ["", "ms", "-1s", "1h", "1e5s", "5 ms", "1.2.3s", "99999999999999999999"])
  func noTimes(_ text: String) {
    #expect(Span(argument: text) == nil)
  }

  @Test(
    "a rate is a number or a percentage",
    arguments: [("1e-5", 1e-5), ("0.1%", 0.001), ("+2%", 0.02), ("-2%", -0.02), ("0", 0)])
  func shares(_ text: String, _ value: Double) {
    #expect(Share(argument: text)?.value == value)
  }

  @Test("an invalid rate is rejected", arguments: ["", "%", "nan", "inf", "much", "1%%"])
  func noShares(_ text: String) {
    #expect(Share(argument: text) == nil)
  }

  @Test("the emulated line has the properties that the options set")
  func line() throws {
    let line = try configurations("--baud", "921600", "--clock", "-2%", "--queue", "20480", "--batch", "16ms").a
    #expect(line.baud == 921_600)
    #expect(line.clockError == -0.02)
    #expect(line.transmitQueue == 20_480)
    #expect(line.batch == .milliseconds(16))
  }

  @Test("a cut has a kind, a time and a length, and may remove one end's device")
  func cuts() throws {
    let both = try configurations("--cut", "stall@1s", "--cut", "hang-up@3s+500ms", "--cut-end", "b")
    #expect(both.b.cuts == [Cut(.stall, at: .seconds(1)), Cut(.hangUp, at: .seconds(3), for: .milliseconds(500))])
    #expect(both.a.cuts == [Cut(.stall, at: .seconds(1)), Cut(.lose, at: .seconds(3), for: .milliseconds(500))])
  }

  @Test(
    "fault options set the line's faults",
    arguments: [
      ["--bit-errors", "100%"], ["--bursts", "1000000/1000001@1"], ["--drop", "1"], ["--duplicate", "100%"],
      ["--insert", "1"], ["--latency", "1s"], ["--slow-reader", "1"], ["--log-line-every", "1ms"],
    ])
  func faults(_ arguments: [String]) throws {
    func carried(_ configuration: LineConfiguration) -> [UInt8] {
      var line = EmulatedLine(configuration, seed: 1)
      line.send(Array(repeating: 0, count: 100), at: 0)
      return line.receive(at: 500_000_000)
    }
    let both = try LineOptions.parse(arguments + ["--only-from", "b"]).configurations()
    #expect(carried(both.a) == Array(repeating: 0, count: 100))
    #expect(carried(both.b) != Array(repeating: 0, count: 100))
  }

  @Test(
    "a meaningless option is refused by name",
    arguments: [
      (["--baud", "3"], "baud"), (["--drop", "2"], "dropped-bytes"), (["--bit-errors", "150%"], "bit-flips"),
      (["--clock", "200%"], "clock"), (["--queue", "0"], "queue"), (["--bursts", "10/5@0.1"], "bursts"),
      (["--slow-reader", "0"], "slow-reader"), (["--cut", "stall@1s+0s"], "cut"),
    ])
  func refused(_ arguments: [String], _ name: String) throws {
    let failure = try #require(throws: CommandFailure.self) { try LineOptions.parse(arguments).configurations() }
    #expect(failure.status == .usage)
    #expect(failure.message.contains(name), "\(failure.message)")
  }

  @Test(
    "an option that cannot be parsed is refused",
    arguments: [
      ["--cut", "hang-up"], ["--cut", "explode@1s"], ["--cut", "stall@1s+2s+3s"], ["--bursts", "10@0.1"],
      ["--bursts", ""], ["--only-from", "c"], ["--latency", "soon"],
    ])
  func unreadable(_ arguments: [String]) {
    #expect(throws: (any Error).self) { try LineOptions.parse(arguments) }
  }

  @Test("commands on standard input are parsed from lines, and other text is rejected")
  func orders() {
    #expect(LineConsole.Order("cut") == .cut(.hangUp, at: nil))
    #expect(LineConsole.Order(" cut  stall ") == .cut(.stall, at: nil))
    #expect(LineConsole.Order("cut rename b") == .cut(.rename, at: .b))
    #expect(LineConsole.Order("cut a") == .cut(.hangUp, at: .a))
    #expect(LineConsole.Order("restore") == .restore)
    #expect(LineConsole.Order("statistics") == .statistics)
    #expect(LineConsole.Order("quit") == .quit)
    for other: Substring in ["cut c", "cut a stall", "quit now", "", "RESTORE"] {
      #expect(LineConsole.Order(other) == nil)
    }
  }
}
