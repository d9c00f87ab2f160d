import ArgumentParser
import Byway
import BywayProxy
import Logging
import NIOCore

/// What a daemon has one or several of: a gateway, or a proxy.
protocol DaemonMember: Sendable {
  associatedtype Options: MemberOptions

  /// What its sections begin with: `[gateway NAME]`.
  static var kind: String { get }
  /// Another kind of section, which holds for all of them, and the options that its settings stand for; `nil`: there is none.
  static var sharedSections: (kind: String, options: [String: String])? { get }

  /// Where one listens, or dials for its clients: what nobody else can have at the same time.
  static func places(of configuration: Options.Configuration) -> [String]
  /// One that holds no place yet.
  static func make(_ configuration: Options.Configuration) throws -> Self
  /// Of one that was just made.
  /// - Parameter held: places that belong to this daemon already.
  /// - Throws: where something cannot be opened.
  func open(besides held: Set<String>) async throws -> Changeover
  /// - Parameter held: places that belong to this daemon already.
  /// - Throws: where something cannot be opened. It goes on as before then.
  func prepare(_ configuration: Options.Configuration, besides held: Set<String>) async throws -> Changeover
  /// It may leave its places one by one.
  func prepareToLeave() -> Changeover
  func waitUntilEnded() async throws
  func stop(within patience: TimeAmount) async
  /// Its links and origins.
  /// - Parameters:
  ///   - name: of its section.
  ///   - measures: asks the far end for a round trip, which may take a second.
  func status(named name: String, measures: Bool) async -> DaemonStatus.Member
  /// Whether requests can be sent through it as if a client had been let in with them.
  static var sends: Bool { get }
  /// Sends a request as if a client had been let in with it.
  /// - Parameter listener: where the one came in that it repeats.
  /// - Returns: `nil` where that was not here, or cannot be.
  func send(_ request: Request, at listener: String) async throws -> Response?
  /// What follows "gateway" and its name.
  var readiness: ReadyNotice { get async }
}

extension DaemonMember {
  static var sharedSections: (kind: String, options: [String: String])? { nil }

  static var sends: Bool { false }

  func send(_ request: Request, at listener: String) async throws -> Response? { nil }
}

/// What a gateway's configuration and a proxy's have in common.
protocol MemberConfiguration: Sendable {
  var interceptors: [any Interceptor] { get set }
  var observers: [any ExchangeObserver] { get set }
  var tally: ExchangeTally? { get set }
  var audit: (any AuditLog)? { get set }
  /// What one user is told is not for another.
  var tellsUsersApart: Bool { get }
}

extension MemberConfiguration {
  /// The same with those interceptors before its own, observed, and counted.
  func adding(
    _ interception: Interception, _ observation: DaemonObservation, _ tally: ExchangeTally
  ) -> Self {
    var configuration = self
    configuration.observers = observation.observers
    configuration.tally = tally
    configuration.audit = interception.audit
    configuration.interceptors =
      (observation.hindrances.map { [$0] } ?? []) + interception.before(interceptors)
    return configuration
  }
}

/// What one of them is told.
protocol MemberOptions: ParsableArguments, Sendable {
  associatedtype Configuration: MemberConfiguration

  var interceptors: InterceptorOptions { get }
  var maxConnections: Int? { get }

  /// Options that a file may have thousands of times, and that the parser leaves as text.
  static var lists: Set<String> { get }

  /// - Parameter list: one of ``lists``.
  mutating func set(_ list: String, to values: [String])

  /// Those that it accepts and those that it opens.
  func links(of configuration: Configuration) -> [OptionLink]

  /// Of its files, those of its links left out.
  var checks: [OptionCheck] { get }

  /// Reads what is given of the values that the parser leaves as text.
  func check(transports: TransportRegistry) throws

  /// Reads the files that are named, and changes nothing.
  /// - Throws: ``CommandFailure`` or ``BywayError`` where something is missing or wrong.
  func configuration(transports: TransportRegistry, logger: Logger) throws -> Configuration

  /// Opens what the interceptors need, as far as it is not open yet.
  func interception(of configuration: Configuration, with files: InterceptionFiles) throws -> Interception
}

extension MemberOptions {
  static var lists: Set<String> { [] }

  mutating func set(_ list: String, to values: [String]) {}

  /// What cannot change while it runs: options, with their values as text.
  var fixed: [String: String] { ["max-connections": maxConnections.map { "\($0)" } ?? ""] }
}

/// The command that runs a daemon.
protocol DaemonCommand: ParsableCommand {
  associatedtype Member: DaemonMember

  var member: Member.Options { get set }
  var daemon: DaemonOptions { get }
  var file: DaemonFileOptions { get }
}

extension DaemonCommand {
  /// What messages about a member begin with; nothing where it has no section of its own.
  static func place(of name: String) -> String { name.isEmpty ? "" : "[\(Member.kind) \(name)]: " }

  /// Until it ends or is stopped.
  func serve() async throws {
    let source = DaemonPlan<Self>.Source(
      file: file.config, arguments: CommandContext.arguments, transports: CommandContext.transports)
    if file.check {
      try source.read(given: self).check(CommandContext.transports)
      try StandardStream.output.write("\(file.config ?? "What the options say") is valid.\n")
      return
    }
    if daemon.observation.logFormat == nil, let format = source.logFormat { LogLevels.set(format) }
    let name = try file.name(of: Member.kind)
    let service = DaemonService { manager in
      // After the signals are taken: who asks for a reload meanwhile gets it.
      let plan = try await source.readChecked()
      plan.daemon.applyToLog()
      return try await Daemon.start(plan, from: source, named: name, under: manager)
    }
    try await service.runToEnd(logger: DaemonLogHandler.logger("byway"))
  }
}
