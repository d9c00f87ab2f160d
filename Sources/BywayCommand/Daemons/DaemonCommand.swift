import ArgumentParser
import Byway
import Logging
import NIOCore

/// What a daemon has one or several of: a gateway, or a proxy.
protocol DaemonMember: Sendable {
  associatedtype Options: MemberOptions

  /// What its sections begin with: `[gateway NAME]`.
  static var kind: String { get }

  /// Where one listens, or dials for its clients: what nobody else can have at the same time.
  static func places(of configuration: Options.Configuration) -> [String]
  static func start(_ configuration: Options.Configuration) async throws -> Self
  /// - Throws: where it cannot. It goes on as before then.
  func reload(_ configuration: Options.Configuration, within patience: TimeAmount) async throws
  func waitUntilEnded() async throws
  func stop(within patience: TimeAmount) async
  /// Its links and origins.
  /// - Parameters:
  ///   - name: of its section.
  ///   - measures: asks the far end for a round trip, which may take a second.
  func status(named name: String, measures: Bool) async -> DaemonStatus.Member
  /// As in "byway: gateway …".
  var readiness: String { get }
}

/// What one of them is told.
protocol MemberOptions: ParsableArguments, Sendable {
  associatedtype Configuration: Sendable

  /// Those that it accepts and those that it opens.
  static func links(of configuration: Configuration) -> [Link]

  /// Reads what is given of the values that the parser leaves as text.
  func check(transports: TransportRegistry) throws

  /// Reads the files that are named, and changes nothing.
  /// - Throws: ``CommandFailure`` or ``BywayError`` where something is missing or wrong.
  func configuration(transports: TransportRegistry, logger: Logger) throws -> Configuration

  /// What cannot change while it runs: options, with their values as text.
  var fixed: [String: String] { get }

  /// Opens what the interceptors need, as far as it is not open yet.
  func interception(of configuration: Configuration, with files: InterceptionFiles) throws -> Interception
  /// The same configuration with those interceptors, told of to those observers, and counted.
  func adding(
    _ interception: Interception, _ observers: [any ExchangeObserver], _ tally: ExchangeTally,
    to configuration: Configuration
  ) -> Configuration
  /// Reads the files that ``interception(of:with:)`` would, and writes none.
  func checkInterception() throws
}

/// The command that runs a daemon.
protocol DaemonCommand: ParsableCommand {
  associatedtype Member: DaemonMember

  var member: Member.Options { get }
  var daemon: DaemonOptions { get }
  var file: DaemonFileOptions { get }
}

extension DaemonCommand {
  /// Until it ends or is stopped.
  func serve() async throws {
    let source = DaemonPlan<Self>.Source(
      file: file.config, arguments: CommandContext.arguments, transports: CommandContext.transports)
    if file.check {
      try source.read(given: self).check()
      try StandardStream.output.write("\(file.config ?? "What the options say") is valid.\n")
      return
    }
    let name = try file.name(of: Member.kind)
    let service = DaemonService { manager in
      // After the signals are taken: who asks for a reload meanwhile gets it.
      let plan = try source.read()
      LogLevels.set(plan.daemon.logLevel ?? .info)
      return try await Daemon.start(plan, from: source, named: name, under: manager)
    }
    try await service.runToEnd(logger: LogLevels.logger("byway"))
  }
}
