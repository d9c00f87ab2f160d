import ArgumentParser
import BywayDaemonProcess
import BywayLineConformance
import BywayLineDevices
import BywayLineEmulation
import BywayTerminal
import NIOPosix

/// `byway line`
struct LineCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "line",
    abstract: "Emulates a serial line with any faults between two devices that programs can open.",
    discussion: """
      The two paths appear as terminals and are joined at line rate, with the faults asked for. The seed that is printed \
      repeats their decisions. Times are written as 5ms, 1.5s or 2min, shares as 1e-5 or 0.1%.

      While it runs it reads lines: "cut [KIND] [a|b]" pulls the cable (KIND as for --cut, hang-up by default), \
      "restore" puts it back, "statistics" and "quit" do what they say. SIGTERM and SIGINT end it as well: the paths are \
      removed, and the statistics written.

      With --conform ROLE it acts as the other end of the line: it runs every check of docs/wire-protocol.md against a \
      program that speaks the protocol at PATH-A, and prints the results. A terminal appears at PATH-A for the program \
      to open, unless there is a device already.
      """)

  @Argument(help: .value("path-a", "The path of the device of end a, for example /tmp/ttyA."))
  var pathA: String

  @Argument(help: .value("path-b", "The path of the device of end b. Not with --conform."))
  var pathB: String?

  @OptionGroup var options: LineOptions

  @OptionGroup(title: "Conformance") var conformance: ConformanceOptions

  func validate() throws {
    guard conformance.role == nil else {
      guard pathB == nil else {
        throw ValidationError("--conform takes one path, to which the program under test connects.")
      }
      guard options.isPlain else {
        throw ValidationError("--conform needs a line without faults: leave out all but --baud.")
      }
      return
    }
    guard pathB != nil else {
      throw ValidationError(
        "A line has two ends, and the path of the second one is missing: write byway line \(pathA) PATH-B, for example byway line "
          + "/tmp/ttyA /tmp/ttyB.")
    }
    guard conformance.isPlain else { throw ValidationError("--quick, --only and --tolerance go with --conform.") }
  }

  func run() async throws {
    if let role = conformance.role { try await conform(role) } else { try await emulate(pathB ?? "") }
  }

  private func conform(_ role: Script.Role) async throws {
    let signals = await Signal.arrivals(of: [.terminate, .interrupt, .hangUp])
    let interruption = try Interruption()
    let task = Task {
      for await _ in signals { interruption.want() }
    }
    defer { task.cancel() }
    try await NIOThreadPool.singleton.runIfActive { [pathA, baud = options.rate, conformance] in
      var run = try ConformanceRun(role, path: pathA, baud: baud, conformance, interruption)
      StandardStream.error.writeLine("byway: testing the end at \(pathA), which is to \(role.rawValue)")
      try run.run()
    }
  }

  private func emulate(_ pathB: String) async throws {
    let signals = await Signal.arrivals(of: [.terminate, .interrupt, .hangUp])
    let line = try open(pathB)
    defer { line.close() }
    StandardStream.error.writeLine(
      "byway: line ready on \(pathA) \(pathB) at \(options.baud.map { "\($0) baud" } ?? "the rates that programs set"), seed \(line.seed)"
    )

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

  private func open(_ pathB: String) throws -> PseudoTerminalLine {
    let (forward, back) = try options.configurations()
    do {
      return try PseudoTerminalLine(
        forward, back: back, rates: options.baud == nil ? .ofPrograms : .fixed, seed: options.seed,
        paths: (pathA, pathB),
        observer: { StandardStream.error.writeLine("byway: \(LineReport.sentence($0))") })
    } catch let error as LineFailure {
      throw CommandFailure(.cannotCreate, error.description)
    }
  }
}
