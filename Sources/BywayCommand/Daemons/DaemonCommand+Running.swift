import BywayDaemon
import BywayDaemonProcess
import BywayTerminal

extension DaemonCommand {
  /// Runs until the daemon ends or is stopped.
  func run() async throws {
    let source = CommandPlan<Self>.Source(
      file: file.config, arguments: CommandContext.arguments, transports: CommandContext.transports)
    if file.check {
      try source.read(given: self).check(CommandContext.transports)
      try StandardStream.output.write("\(file.config ?? "The command line") is valid.\n")
      return
    }
    if daemon.observation.logFormat == nil, let format = source.logFormat { LogLevels.set(format) }
    let name = try file.name(of: Member.kind)
    let service = DaemonService { manager in
      // Signals are handled from here on: a reload that is requested meanwhile takes place.
      let source = source.forDaemon
      let plan = try await source.read()
      plan.settings.applyToLog()
      return try await Daemon.start(plan, from: source, named: name, under: manager)
    }
    try await service.runToEnd(logger: DaemonLogHandler.logger("byway"))
  }
}
