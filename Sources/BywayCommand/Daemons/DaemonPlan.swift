import ArgumentParser
import Byway
import Logging
import NIOCore

/// What a daemon is to be: a value, made of a file and a command line without effects. A start, a reload and `--check` all
/// begin with one.
struct DaemonPlan<Command: DaemonCommand>: Sendable {
  typealias Options = Command.Member.Options

  /// A gateway or proxy in it.
  struct Member: Sendable {
    let options: Options
    let configuration: Options.Configuration
  }

  /// Where plans come from, again at each reload.
  struct Source: Sendable {
    let file: String?
    let arguments: [String]
    let transports: TransportRegistry
  }

  let daemon: DaemonOptions
  /// By the names of their sections; one without a name where there are no sections.
  let members: [(name: String, member: Member)]

  var drain: TimeAmount { (daemon.drain ?? Seconds(10)).amount }

  /// Opens what a start would open for reading.
  /// - Throws: ``ConfigurationErrors``
  func check() throws {
    var failures: [CommandFailure] = []
    for (name, member) in members {
      do { try member.options.interceptors.check() } catch {
        let failure = error.asFailure
        failures.append(CommandFailure(failure.status, Command.place(of: name) + failure.message))
      }
    }
    if !failures.isEmpty { throw ConfigurationErrors(failures: failures) }
  }
}

extension DaemonPlan.Source {
  /// The command line does not change; what it names may have.
  func read() throws -> DaemonPlan {
    try read(given: Command.parse(arguments))
  }

  /// - Parameter command: what the arguments alone say.
  /// - Throws: ``ConfigurationErrors``, or ``CommandFailure`` where there is no such file.
  func read(given command: Command) throws -> DaemonPlan {
    guard let path = file else { return try plan([("", "", command)], daemon: command.daemon) }
    let shared = Command.Member.sharedSections
    var file = try ConfigurationFile(path: path, sections: [Command.Member.kind] + [shared?.kind].compactMap(\.self))
    if let shared { file = file.unfolding(shared.kind, shared.options) }
    var reader = ConfigurationReader<Command>(file, beneath: arguments, transports: transports)
    var commands: [(name: String, place: String, command: Command)] = []
    if file.sections.isEmpty {
      if let command = reader.command(of: nil) { commands.append(("", "\(path): ", command)) }
    }
    for section in file.sections {
      guard let command = reader.command(of: section) else { continue }
      commands.append((section.name, "\(path), [\(section.kind) \(section.name)]: ", command))
    }
    guard reader.failures.isEmpty, let daemon = commands.first?.command.daemon else {
      throw ConfigurationErrors(failures: reader.failures)
    }
    if file.sections.count > 1, let option = memberOption {
      throw CommandFailure(
        .usage, "\(option) on the command line would hold for each section of \(path): put it into one of them.")
    }
    return try plan(commands, daemon: daemon)
  }

  /// Given on the command line.
  private var memberOption: Substring? {
    arguments.lazy.filter { $0.hasPrefix("--") }.map { $0.prefix { $0 != "=" } }.first { name in
      ArgumentFacts.all(of: DaemonPlan.Options.self).contains { $0.names.contains(String(name)) }
    }
  }

  private func plan(
    _ commands: [(name: String, place: String, command: Command)], daemon: DaemonOptions
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
    failures += Self.clashes(of: members)
    do {
      let links = members.flatMap { DaemonPlan.Options.links(of: $0.member.configuration) }
      try daemon.observation.check(transports, besides: links)
    } catch {
      failures.append(error.asFailure)
    }
    if !failures.isEmpty { throw ConfigurationErrors(failures: failures) }
    return DaemonPlan(daemon: daemon, members: members)
  }
}

extension DaemonPlan.Source {
  /// Two that would listen at one place.
  private static func clashes(of members: [(name: String, member: DaemonPlan.Member)]) -> [CommandFailure] {
    var holders: [String: String] = [:]
    var failures: [CommandFailure] = []
    for (name, member) in members {
      for place in Set(Command.Member.places(of: member.configuration)).sorted() {
        guard let other = holders.updateValue(name, forKey: place), !place.hasSuffix(":0") else { continue }
        failures.append(
          CommandFailure(
            .usage, "[\(Command.Member.kind) \(name)] and [\(Command.Member.kind) \(other)] both listen on \(place)."))
      }
    }
    return failures
  }
}

extension Error {
  /// As a user hears of it.
  var asFailure: CommandFailure {
    switch self {
    case let failure as CommandFailure: failure
    case let error as BywayError: CommandFailure(ExitStatus(error.code), error.message)
    default: CommandFailure(.software, "\(self)")
    }
  }
}
