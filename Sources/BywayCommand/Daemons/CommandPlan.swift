import ArgumentParser
import Byway
import BywayDaemon
import BywayDaemonProcess
import BywayTerminal
import Logging

/// The options of a daemon: a value, read from a file and a command line without side effects. A start, a reload and `--check` all
/// begin with it.
struct CommandPlan<Command: DaemonCommand>: Sendable {
  typealias Options = Command.Options

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

  /// Returns the plan for the daemon.
  func forDaemon(_ transports: TransportRegistry) throws -> DaemonPlan<Command.Member> {
    DaemonPlan(
      settings: try daemon.settings(in: transports),
      parts: members.map { name, member in
        DaemonPlan.Part(name: name, configuration: member.configuration, fixed: member.options.fixed) {
          try member.options.interception(of: member.configuration, with: $0)
        }
      })
  }
}

extension CommandPlan.Source {
  /// The log format in the file, even if other settings are wrong.
  var logFormat: LogFormat? {
    guard let file, let settings = try? ConfigurationFile(path: file, sections: Command.sectionKinds).entries
    else { return nil }
    return settings.last { $0.name == "log-format" }.flatMap { LogFormat(rawValue: $0.value) }
  }

  /// The source of the daemon's plans.
  var forDaemon: DaemonPlan<Command.Member>.Source {
    DaemonPlan.Source(file: file, transports: transports) {
      try await FileWork.run {
        let plan = try read()
        try plan.check(transports)
        return try plan.forDaemon(transports)
      }
    }
  }

  /// Reads the plan again: the command line stays the same, and the files may have changed.
  func read() throws -> CommandPlan {
    try read(given: Command.parse(arguments))
  }

  /// - Parameters:
  ///   - command: The command from the arguments alone.
  ///   - text: The file's content if it was read already: it could change between two readings.
  /// - Throws: ``ConfigurationErrors``, or ``CommandFailure`` if there is no such file.
  func read(given command: Command, text: String? = nil) throws -> CommandPlan {
    guard let path = file else {
      return try plan([("", "", command)], daemon: command.daemon, OptionPlaces(nil, beneath: arguments))
    }
    let shared = Command.sharedSections
    var file = ConfigurationFile(
      try text ?? TextFile.read(path, ofUser: true), path: path, sections: Command.sectionKinds)
    file = file.joining(Command.pluginSections, PluginArgument.names)
    if let shared { file = file.unfolding(shared.kind, shared.options) }
    do { return try read(file) } catch let error as ConfigurationErrors {
      let names = ConfigurationReader<Command>.optionNames.subtracting(
        arguments.map { String($0.prefix { $0 != "=" }) })
      throw ConfigurationErrors(failures: error.failures.map { $0.inWordsOfFile(names) })
    }
  }

  private func read(_ file: ConfigurationFile) throws -> CommandPlan {
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
        places.flaws(of: command.member.checks(in: transports), in: name, of: Command.Member.self)
          + places.flaws(of: command.daemon.observation.checks, of: Command.Member.self)
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
      ArgumentFacts.all(of: CommandPlan.Options.self).contains { $0.names.contains(String(name)) }
    }
  }

  private func plan(
    _ commands: [(name: String, place: String, command: Command)], daemon: DaemonOptions, _ places: OptionPlaces
  ) throws -> CommandPlan {
    var failures: [CommandFailure] = []
    var members: [(name: String, member: CommandPlan.Member)] = []
    for (name, place, command) in commands {
      var logger = DaemonLogHandler.logger("byway.\(Command.Member.kind)")
      if !name.isEmpty { logger[metadataKey: Command.Member.kind] = "\(name)" }
      do {
        let configuration = try command.member.configuration(transports: transports, logger: logger)
        members.append((name, CommandPlan.Member(options: command.member, configuration: configuration)))
      } catch {
        let failure = error.asFailure
        failures.append(CommandFailure(failure.status, place + failure.message))
      }
    }
    let plan = CommandPlan(daemon: daemon, members: members, places: places)
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
