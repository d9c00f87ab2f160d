import ArgumentParser
import Byway
import BywayProxy
import Logging
import NIOCore

/// A member of a daemon: a gateway or a proxy.
protocol DaemonMember: Sendable {
  associatedtype Options: MemberOptions

  /// The word that begins its sections: `[gateway NAME]`.
  static var kind: String { get }
  /// A further kind of section that applies to all members, and the options for its settings; `nil` if there is none.
  static var sharedSections: (kind: String, options: [String: String])? { get }

  /// Returns the places where a member listens, or dials for its clients. A place can have only one user at a time.
  static func places(of configuration: Options.Configuration) -> [String]
  /// Creates a member that has no places yet.
  static func make(_ configuration: Options.Configuration) throws -> Self
  /// Opens a member that was just created.
  /// - Parameter held: The places that this daemon has already.
  /// - Throws: If something cannot be opened.
  func open(besides held: Set<String>) async throws -> Changeover
  /// Prepares a running member for another configuration.
  /// - Parameter held: The places that this daemon has already.
  /// - Throws: If something cannot be opened; the member continues as before then.
  func prepare(_ configuration: Options.Configuration, besides held: Set<String>) async throws -> Changeover
  /// Prepares to leave its places, which it may do one by one.
  func prepareToLeave() -> Changeover
  func waitUntilEnded() async throws
  func stop(within patience: Duration) async
  /// Returns the state of its links and origins.
  /// - Parameters:
  ///   - name: The name of its section.
  ///   - measures: Whether to measure the round trip to the far end, which may take a second.
  func status(named name: String, measures: Bool) async -> DaemonStatus.Member
  /// Whether requests can be sent through it as if an accepted client had sent them.
  static var sends: Bool { get }
  /// Sends a request as if an accepted client had sent it.
  /// - Parameter listener: The listener of the request that is repeated.
  /// - Returns: `nil` if that is not a listener of this member, or if it cannot send.
  func send(_ request: Request, at listener: String) async throws -> Response?
  /// The part of its ready notice after "gateway" and its name.
  var readiness: ReadyNotice { get async }
}

extension DaemonMember {
  static var sharedSections: (kind: String, options: [String: String])? { nil }

  static var sends: Bool { false }

  func send(_ request: Request, at listener: String) async throws -> Response? { nil }
}

/// The common part of the configurations of gateways and proxies.
protocol MemberConfiguration: Sendable {
  var interceptors: [any Interceptor] { get set }
  var observers: [any ExchangeObserver] { get set }
  var tally: ExchangeTally? { get set }
  var audit: (any AuditLog)? { get set }
  /// Whether a response to one user must not be shown to another.
  var tellsUsersApart: Bool { get }
}

extension MemberConfiguration {
  /// Returns the configuration with further interceptors before its own, observers and a tally.
  func adding(
    _ interception: Interception, _ observation: DaemonObservation, _ tally: ExchangeTally
  ) -> Self {
    var configuration = self
    configuration.observers = observation.observers
    configuration.tally = tally
    configuration.audit = interception.audit
    configuration.interceptors =
      (observation.faultRules.map { [$0] } ?? []) + interception.before(interceptors)
    return configuration
  }
}

/// The options of a member.
protocol MemberOptions: ParsableArguments, Sendable {
  associatedtype Configuration: MemberConfiguration

  var interceptors: InterceptorOptions { get }
  var maxConnections: Int? { get }

  /// Options that a file may set thousands of times, and that the parser leaves as text.
  static var lists: Set<String> { get }

  /// Sets the values of a list.
  /// - Parameter list: One of ``lists``.
  mutating func set(_ list: String, to values: [String])

  /// Returns the links on which it accepts connections, and those that it opens.
  func links(of configuration: Configuration) -> [OptionLink]

  /// The checks of its files, except those of its links.
  var checks: [OptionCheck] { get }

  /// Checks the given values that the parser leaves as text.
  func check(transports: TransportRegistry) throws

  /// Returns the configuration. Reads the files that the options name, and changes nothing.
  /// - Throws: ``CommandFailure`` or ``BywayError`` if something is missing or wrong.
  func configuration(transports: TransportRegistry, logger: Logger) throws -> Configuration

  /// Opens what the interceptors need and is not open yet.
  func interception(of configuration: Configuration, with files: InterceptionFiles) throws -> Interception
}

extension MemberOptions {
  static var lists: Set<String> { [] }

  mutating func set(_ list: String, to values: [String]) {}

  /// The options that cannot change while it runs, with their values as text.
  var fixed: [String: String] { ["max-connections": maxConnections.map { "\($0)" } ?? ""] }
}

/// A command that runs a daemon.
protocol DaemonCommand: AsyncParsableCommand {
  associatedtype Member: DaemonMember

  var member: Member.Options { get set }
  var daemon: DaemonOptions { get }
  var file: DaemonFileOptions { get }
}

extension DaemonCommand {
  /// Returns the beginning of messages about a member; empty if it has no section of its own.
  static func place(of name: String) -> String { name.isEmpty ? "" : "[\(Member.kind) \(name)]: " }

  /// Runs until the daemon ends or is stopped.
  func run() async throws {
    let source = DaemonPlan<Self>.Source(
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
      let plan = try await source.readChecked()
      plan.daemon.applyToLog()
      return try await Daemon.start(plan, from: source, named: name, under: manager)
    }
    try await service.runToEnd(logger: DaemonLogHandler.logger("byway"))
  }
}
