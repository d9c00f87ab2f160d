package import Byway
import BywayDaemonProcess
import BywayLibC
import BywayTerminal

/// The program byway-gateway: a gateway for devices with little flash, without an argument parser and Foundation.
package enum GatewayProgram {
  /// Runs the program with the arguments of this process, and ends the process with its exit status.
  /// - Parameters:
  ///   - transports: The transports of all links.
  ///   - omitted: The schemes that the program lacks, each with a sentence that says what to do.
  package static func run(transports: [any Transport], omitted: [String: String]) async -> Never {
    // If a reader has gone away, one write fails; the process must not end.
    signal(SIGPIPE, SIG_IGN)
    Advice.use(AdviceText.of)
    let arguments = Array(CommandLine.arguments.dropFirst())
    LogLevels.set(LogFormat.asked(in: arguments) ?? .usual)
    do {
      try await run(arguments, TransportRegistry(transports, omitted: omitted))
      exit(ExitStatus.success.rawValue)
    } catch is BrokenPipe {
      exit(ExitStatus.success.rawValue)
    } catch {
      let failure = error.asFailure
      FailureReport.print(failure.message)
      exit(failure.status.rawValue)
    }
  }

  private static func run(_ arguments: [String], _ transports: TransportRegistry) async throws {
    switch try ProgramArguments(arguments) {
    case .help: try StandardStream.output.write(ProgramHelp.text(schemes: transports.schemes))
    case .version: try StandardStream.output.write("byway-gateway \(Release.version)\n")
    case .run(let settings): try await serve(settings, transports)
    }
  }

  private static func serve(_ settings: ProgramSettings, _ transports: TransportRegistry) async throws {
    let service = DaemonService { manager in
      let gateway = settings.gateway
      let origin = try gateway.target()
      let configuration = try gateway.configuration(
        to: origin, trusting: { nil }, logger: DaemonLogHandler.logger("byway.gateway")
      ) { try link($0, transports) }
      LogLevels.set(settings.logLevel ?? .info)
      MemoryLimit.apply(settings.memoryBudget?.bytes)
      return try await GatewayService.start(configuration, drain: settings.drain, under: manager)
    }
    try await service.runToEnd(logger: DaemonLogHandler.logger("byway"))
  }

  /// Returns the link of an address.
  private static func link(_ text: String, _ transports: TransportRegistry) throws -> Link {
    let place = text.prefix { $0 != "?" }
    if let bare = BarePlace(place, besides: transports.schemes) { throw bare.failure(place, isProgram: false) }
    guard place.contains(":") else {
      throw CommandFailure(
        .usage,
        "\"\(place)\" is not an address, and names of links need the command byway: write an address with its scheme, for "
          + "example unix:/run/byway.sock.")
    }
    return try transports.link(text)
  }
}
