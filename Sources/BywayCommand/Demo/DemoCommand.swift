import ArgumentParser
import Byway
import BywayDaemon
import BywayLibC
import BywayTerminal
import Logging

/// `byway demo`
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract:
      "Shows everything on this machine: a service without a port, a bad serial line, and a proxy to try it with.",
    usage: "byway demo [<options>]",
    discussion: """
      In one process: an origin that is a Swift function, a gateway, an emulated serial line with errors, and a proxy on \
      127.0.0.1. Every request is shown as it passes, and the state of the line; a separate page, the inspector, shows more of both. \
      On a terminal p pulls the cable and plugs it \
      in again, e makes more errors, q quits. With --once it takes a tour by itself and exits with 0 if all went well.
      """)

  @Flag(help: "Take the tour, report its results, and exit.")
  var once = false

  @Option(help: .value("number", "Repeat the line's errors of an earlier run. Random by default."))
  var seed: UInt64?

  @Option(help: .value("address", "Where the proxy listens."))
  var listen = "127.0.0.1:0"

  @Option(help: .value("level", "How much to log."))
  var logLevel = LogLevel.error

  func run() async throws {
    if once { try await tour() } else { try await show() }
  }

  private func tour() async throws {
    let transports = CommandContext.transports
    let stage = try await stage(transports, observer: nil, isInspected: false)
    do {
      try await DemoTour(stage: stage, transports: transports, style: TextStyle(for: .output)).run()
      await stage.stop(within: .seconds(1))
    } catch {
      await stage.stop(within: .zero)
      throw error
    }
  }

  private func show() async throws {
    let transports = CommandContext.transports
    let style = TextStyle(for: .output)
    let display = StatusLine(on: .output)
    let keys = display.stream.isTerminal ? KeyInput() : nil
    defer { keys?.close() }
    let service = DaemonService(canReload: false) { _ in
      let printer = ExchangePrinter { display.writeLine($0.line(style)) }
      let stage = try await stage(transports, observer: printer, isInspected: true)
      for line in stage.introduction(style, isSeen: display.stream.isTerminal) { display.writeLine(line) }
      let console = DemoConsole(stage: stage, display: display, keys: keys, style: style)
      return DemoShow(stage: stage, console: console)
    }
    try await service.runToEnd(logger: DaemonLogHandler.logger("byway.demo"))
  }

  private func stage(
    _ transports: TransportRegistry, observer: (any Interceptor)?, isInspected: Bool
  ) async throws -> DemoStage {
    LogLevels.set(logLevel)
    return try await DemoStage.start(
      listen: try ListenAddress(listen).link(in: transports), isInspected: isInspected, seed: seed,
      transports: transports, observer: observer, logger: DaemonLogHandler.logger("byway.demo"))
  }
}
