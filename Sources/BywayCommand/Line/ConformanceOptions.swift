import ArgumentParser
import BywayLineConformance

/// The options of `byway line --conform`.
struct ConformanceOptions: ParsableArguments {
  @Option(
    name: .customLong("conform"),
    help: ArgumentHelp(
      """
      Test an end instead of emulating a line: dial if the program under test dials, listen if it listens. PATH-A is a serial \
      device, or a path at which a terminal appears for the program to open. Results are TAP; the status is 1 if a check failed.
      """,
      valueName: "role"))
  var role: Script.Role?

  @Flag(help: "With --conform: leave out the checks that wait for timers of many seconds.")
  var quick = false

  @Option(help: .value("text", "With --conform: only checks whose title contains this."))
  var only = ""

  @Option(
    help: .value(
      "time", "With --conform: how late a frame may come because of the machine and its adapters; 50ms by default."))
  var tolerance: Span?

  static let usualTolerance = Span(.milliseconds(50))

  var isPlain: Bool { !quick && only.isEmpty && tolerance == nil }
}

extension Script.Role: ExpressibleByArgument {}
