import ArgumentParser
import BywayTesting
import LineEmulation
import UnixSignals

/// `byway line`
struct LineCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "line",
    abstract: "Emulates a serial line, as bad as you like, between two devices that programs can open.",
    discussion: """
      The two paths appear as terminals and are joined at line rate, with the faults asked for. The seed that is printed \
      repeats their decisions. Times are written as 5ms, 1.5s or 2min, shares as 1e-5 or 0.1%.

      While it runs it reads lines: "cut [KIND] [a|b]" pulls the cable (KIND as for --cut, hang-up where none is given), \
      "restore" puts it back, "statistics" and "quit" do what they say. SIGTERM and SIGINT end it as well: the paths are \
      removed, and the statistics written.
      """)

  @Argument(help: ArgumentHelp("Where the device of end a appears, for example /tmp/ttyA.", valueName: "path-a"))
  var pathA: String

  @Argument(help: ArgumentHelp("Where the device of end b appears.", valueName: "path-b"))
  var pathB: String

  @OptionGroup var options: LineOptions

  init() {}

  func run() async throws {
    let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
    let line = try open()
    defer { line.close() }
    StandardStream.error.writeLine(
      "byway: line ready on \(pathA) \(pathB) at \(options.baud) baud, seed \(line.seed)")

    let (ends, end) = AsyncStream<Void>.makeStream()
    let interrupt = Task {
      for await _ in signals { end.yield() }
    }
    let console = Task {
      await LineConsole(line: line).run()
      end.yield()
    }
    defer {
      interrupt.cancel()
      console.cancel()
    }
    for await _ in ends { break }
    try StandardStream.output.write(LineReport(line).text)
  }

  private func open() throws -> PseudoTerminalLine {
    let (forward, back) = try options.configurations()
    do {
      return try PseudoTerminalLine(
        forward, back: back, seed: options.seed, paths: (pathA, pathB),
        observer: { StandardStream.error.writeLine("byway: \(LineReport.sentence($0))") })
    } catch let error as LineFailure {
      throw CommandFailure(.cannotCreate, error.description)
    }
  }
}
