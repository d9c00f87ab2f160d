import ArgumentParser
import Byway
import BywayTerminal
import Logging
import NIOCore

/// The plan of a daemon: a value, made from a file and a command line without side effects. A start, a reload and `--check` all
/// begin with a plan.
struct DaemonPlan<Command: DaemonCommand>: Sendable {
  typealias Options = Command.Member.Options

  /// A gateway or proxy of the plan.
  struct Member: Sendable {
    let options: Options
    let configuration: Options.Configuration
  }

  /// The source of plans, which each reload reads again.
  struct Source: Sendable {
    let file: String?
    let arguments: [String]
    let transports: TransportRegistry
  }

  let daemon: DaemonOptions
  /// The members by the names of their sections; one without a name if there are no sections.
  let members: [(name: String, member: Member)]
  let places: OptionPlaces

  var drain: TimeAmount { (daemon.drain ?? Seconds(10)).amount }
}

extension DaemonPlan.Source {
  /// The log format in the file, even if other settings are wrong.
  var logFormat: LogFormat? {
    guard let file, let settings = try? ConfigurationFile(path: file, sections: Command.Member.sectionKinds).entries
    else { return nil }
    return settings.last { $0.name == "log-format" }.flatMap { LogFormat(rawValue: $0.value) }
  }

  /// Reads the plan and the files that it names, and checks what a start needs, on another thread.
  func readChecked() async throws -> DaemonPlan {
    try await FileWork.run {
      let plan = try read()
      try plan.check(transports)
      return plan
    }
  }

  /// Reads the plan again: the command line stays the same, and the files may have changed.
  func read() throws -> DaemonPlan {
    try read(given: Command.parse(arguments))
  }

  /// - Parameters:
  ///   - command: The command from the arguments alone.
  ///   - text: The file's content if it was read already: it could change between two readings.
  /// - Throws: ``ConfigurationErrors``, or ``CommandFailure`` if there is no such file.
  func read(given command: Command, text: String? = nil) throws -> DaemonPlan {
    guard let path = file else {
      return try plan([("", "", command)], daemon: command.daemon, OptionPlaces(nil, beneath: arguments))
    }
    let shared = Command.Member.sharedSections
    var file = ConfigurationFile(
      try text ?? TextFile.read(path, ofUser: true), path: path, sections: Command.Member.sectionKinds)
    file = file.joining(Command.Member.pluginSections, PluginArgument.names)
    if let shared { file = file.unfolding(shared.kind, shared.options) }
    do { return try read(file) } catch let error as ConfigurationErrors {
      let names = ConfigurationReader<Command>.optionNames.subtracting(
        arguments.map { String($0.prefix { $0 != "=" }) })
      throw ConfigurationErrors(failures: error.failures.map { $0.inWordsOfFile(names) })
    }
  }

  private func read(_ file: ConfigurationFile) throws -> DaemonPlan {
    let path = file.path
    var reader = ConfigurationReader<Command>(file, beneath: arguments, transports: transports)
    var commands: [(name: String, place: String, command: Command)] = []
    if file.sections.isEmpty {
      if let command = reader.command(of: nil) { commands.append(("", "\(path): ", command)) }
    }
    for section in file.sections {
      guard let command = reader.command(of: section) else { continue }
      commands.append((section.name, "\(path), [\(section.kind) \(section.name)]: ", command))
    }
    let places = OptionPlaces(file, beneath: arguments)
    guard reader.flaws.isEmpty, let daemon = commands.first?.command.daemon else {
      // The files in valid lines may have errors as well.
      let others = (reader.sound + commands.map { ($0.name, $0.command) }).flatMap { name, command in
        places.flaws(of: command.member.checks(in: transports), in: name, of: Command.self)
          + places.flaws(of: command.daemon.observation.checks, of: Command.self)
      }
      throw ConfigurationErrors(of: reader.flaws + others)
    }
    if file.sections.count > 1, let option = memberOption {
      throw CommandFailure(
        .usage, "\(option) on the command line would hold for each section of \(path): put it into one of them.")
    }
    return try plan(commands, daemon: daemon, places)
  }

  /// The first option of a member on the command line.
  private var memberOption: Substring? {
    arguments.lazy.filter { $0.hasPrefix("--") }.map { $0.prefix { $0 != "=" } }.first { name in
      ArgumentFacts.all(of: DaemonPlan.Options.self).contains { $0.names.contains(String(name)) }
    }
  }

  private func plan(
    _ commands: [(name: String, place: String, command: Command)], daemon: DaemonOptions, _ places: OptionPlaces
  ) throws -> DaemonPlan {
    var failures: [CommandFailure] = []
    var members: [(name: String, member: DaemonPlan.Member)] = []
    for (name, place, command) in commands {
      var logger = DaemonLogHandler.logger("byway.\(Command.Member.kind)")
      if !name.isEmpty { logger[metadataKey: Command.Member.kind] = "\(name)" }
      do {
        let configuration = try command.member.configuration(transports: transports, logger: logger)
        members.append((name, DaemonPlan.Member(options: command.member, configuration: configuration)))
      } catch {
        let failure = error.asFailure
        failures.append(CommandFailure(failure.status, place + failure.message))
      }
    }
    let plan = DaemonPlan(daemon: daemon, members: members, places: places)
    do {
      let links = members.flatMap { $0.member.options.links(of: $0.member.configuration) }
      try daemon.observation.check(
        transports, besides: links.map(\.link),
        tellingUsersApart: members.contains { $0.member.configuration.tellsUsersApart })
    } catch {
      failures.append(error.asFailure)
    }
    if !failures.isEmpty { throw ConfigurationErrors(failures: failures) }
    return plan
  }
}

extension Error {
  /// The error as a user sees it.
  var asFailure: CommandFailure {
    switch self {
    case let failure as CommandFailure: failure
    case let errors as ConfigurationErrors: CommandFailure(errors.failures.status, errors.failures.lines)
    case let error as BywayError: CommandFailure(ExitStatus(error.code), error.message)
    default: CommandFailure(.software, "\(self)")
    }
  }
}
