package import Byway
import BywayDaemonProcess
import BywayTerminal

/// The demo of everything on this machine.
package struct Demo: Sendable {
  private let listen: Link
  private let seed: UInt64?
  private let transports: TransportRegistry

  /// - Parameters:
  ///   - listen: The link on which the proxy listens.
  ///   - seed: The line's errors of an earlier run; `nil` for others.
  ///   - transports: The transports of the links between its parts.
  package init(listen: Link, seed: UInt64?, transports: TransportRegistry) {
    self.listen = listen
    self.seed = seed
    self.transports = transports
  }

  /// Takes a tour, and reports its results on standard output.
  /// - Throws: ``CommandFailure`` if a step failed, or ``BywayError``.
  package func tour() async throws {
    let stage = try await stage(observer: nil, isInspected: false)
    do {
      try await DemoTour(stage: stage, transports: transports, style: TextStyle(for: .output)).run()
      await stage.stop(within: .seconds(1))
    } catch {
      await stage.stop(within: .zero)
      throw error
    }
  }

  /// Shows every request and the state of the line, until the user quits or a signal ends it.
  package func show() async throws {
    let style = TextStyle(for: .output)
    let display = StatusLine(on: .output)
    let keys = display.stream.isTerminal ? KeyInput() : nil
    defer { keys?.close() }
    let service = DaemonService(canReload: false) { _ in
      let printer = ExchangePrinter { display.writeLine($0.line(style)) }
      let stage = try await stage(observer: printer, isInspected: true)
      for line in stage.introduction(style, isSeen: display.stream.isTerminal) { display.writeLine(line) }
      let console = DemoConsole(stage: stage, display: display, keys: keys, style: style)
      return DemoShow(stage: stage, console: console)
    }
    try await service.runToEnd(logger: DaemonLogHandler.logger("byway.demo"))
  }

  private func stage(observer: (any Interceptor)?, isInspected: Bool) async throws -> DemoStage {
    try await DemoStage.start(
      listen: listen, isInspected: isInspected, seed: seed, transports: transports, observer: observer,
      logger: DaemonLogHandler.logger("byway.demo"))
  }
}
