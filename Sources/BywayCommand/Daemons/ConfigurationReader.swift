import ArgumentParser
import Byway
import BywayDaemon
import BywayDaemonProcess
import BywayGatewayProgram
import BywayPrimitives
import BywayTerminal

/// A reader that turns a file's settings into a command, as if they had been given on its command line.
struct ConfigurationReader<Command: DaemonCommand> {
  private let file: ConfigurationFile
  /// The command's own arguments, which override the file.
  private let arguments: [String]
  private let transports: TransportRegistry
  private let given: Set<String>
  private let facts = FileFacts<Command>()
  private var lineFailures: [ConfigurationFlaw]
  private var wholeFailures: [CommandFailure] = []

  init(_ file: ConfigurationFile, beneath arguments: [String], transports: TransportRegistry) {
    self.file = file
    self.arguments = arguments
    self.transports = transports
    given = Set(arguments.map { String($0.prefix { $0 != "=" }) })
    lineFailures = file.failures
  }

  /// The options that a file may set, as they are written on a command line.
  static var optionNames: Set<String> { Set(FileFacts<Command>().names.map { "--\($0)" }) }

  /// The valid settings of sections that also have errors, by the names of the sections.
  private(set) var sound: [(name: String, command: Command)] = []

  /// The errors in lines, and those that belong to no line.
  var flaws: [OptionFlaw] {
    lineFailures.map { OptionFlaw(line: $0.line, failure: $0.failure) }
      + wholeFailures.map { OptionFlaw(line: nil, failure: $0) }
  }

  /// - Parameter section: `nil` for a file without sections.
  /// - Returns: `nil` if there is an error, which is then among ``flaws``.
  mutating func command(of section: ConfigurationFile.Section?) -> Command? {
    if let command = soundCommand(of: section) { return command }
    let known = lineFailures.count
    let own = Set((section?.entries ?? []).map(\.name)).filter { !facts.concernsDaemon($0) }
    // A section's own value replaces the one for all sections.
    let common = file.entries.filter { !own.contains($0.name) }
    let words = words(of: common, in: nil) + words(of: section?.entries ?? [], in: section)
    guard lineFailures.count == known, file.failures.isEmpty else {
      if let command = try? parse(words) { sound.append((section?.name ?? "", command)) }
      return nil
    }
    do {
      return try parse(words)
    } catch {
      wholeFailures.append(
        OptionValue.failure(error, at: file.path)
          ?? CommandFailure(.usage, "\(file.path): \(Command.message(for: error).asSentence)"))
      return nil
    }
  }

  /// Reads a section without errors in one pass. Returns `nil` if there is an error; the slow way then finds it line by line.
  private func soundCommand(of section: ConfigurationFile.Section?) -> Command? {
    guard file.failures.isEmpty else { return nil }
    let own = Set((section?.entries ?? []).map(\.name))
    var words: [String] = []
    for (entries, place) in [(file.entries.filter { !own.contains($0.name) }, nil), (section?.entries ?? [], section)] {
      var seen: Set<String> = []
      for entry in entries {
        guard let word = try? self.words(of: entry, in: place), let option = facts.option(entry.name),
          option.isRepeating || seen.insert(entry.name).inserted
        else { return nil }
        if !given.contains("--\(entry.name)") { words += word }
      }
    }
    guard let command = try? parse(words),
      (try? command.member.check(transports: transports)) != nil
    else { return nil }
    return command
  }

  /// Parses the words, except long lists: ArgumentParser's time grows with the square of the number of words.
  private func parse(_ words: [String]) throws -> Command {
    var lists: [String: [String]] = [:]
    var others: [String] = []
    for word in words {
      let name = word.prefix { $0 != "=" }
      if Command.Options.lists.contains(String(name)), name.count < word.count {
        lists[String(name), default: []].append(String(word[name.endIndex...].dropFirst()))
      } else {
        others.append(word)
      }
    }
    var command = try Command.parse(others + arguments)
    for (name, values) in lists { command.member.set(name, to: values) }
    return command
  }

  private mutating func words(
    of entries: [ConfigurationFile.Entry], in section: ConfigurationFile.Section?
  ) -> [String] {
    checkRepetition(in: entries)
    var words: [String] = []
    for entry in entries {
      do throws(ConfigurationFlaw) {
        let arguments = try self.words(of: entry, in: section)
        if given.contains("--\(entry.name)") { continue }
        try check(arguments, of: entry)
        words += arguments
      } catch {
        // Lines before the first section are read once for each section.
        if !lineFailures.contains(where: { $0.failure.message == error.failure.message }) { lineFailures.append(error) }
      }
    }
    return words
  }

  /// Reports an option that is set twice. The parser would silently use the last value.
  private mutating func checkRepetition(in entries: [ConfigurationFile.Entry]) {
    var lines: [String: Int] = [:]
    for entry in entries {
      guard let before = lines.updateValue(entry.line, forKey: entry.name) else { continue }
      guard let option = facts.option(entry.name), !option.isRepeating else { continue }
      lineFailures.append(
        file.failure(entry.line, "\(entry.name) is already set on line \(before): leave one of them out."))
    }
  }

  /// Returns the words that would be given on the command line.
  private func words(
    of entry: ConfigurationFile.Entry, in section: ConfigurationFile.Section?
  ) throws(ConfigurationFlaw) -> [String] {
    let name = "--\(entry.name)"
    guard let option = facts.option(entry.name) else {
      let hint = Spelling.nearest(to: entry.name, among: facts.names).map { " Did you mean \"\($0)\"?" } ?? ""
      let place = section.map { " in [\($0.kind) \($0.name)]" } ?? ""
      throw file.failure(entry.line, "Unknown option \"\(entry.name)\"\(place).\(hint)")
    }
    if section != nil, facts.concernsDaemon(entry.name) {
      throw file.failure(
        entry.line, "\(entry.name) holds for the whole daemon: put it before the first section of the file.")
    }
    guard option.kind == .flag else { return ["\(name)=\(entry.value)"] }
    switch entry.value {
    case "yes": return [name]
    case "no": return []
    default: throw file.failure(entry.line, "\(entry.name) is yes or no, not \"\(entry.value)\".")
    }
  }

  /// Checks a value with the parser, and values that the parser leaves as text with the options' own check.
  private func check(_ words: [String], of entry: ConfigurationFile.Entry) throws(ConfigurationFlaw) {
    do {
      try FileOptions<Command>.parse(words).member.check(transports: transports)
    } catch {
      if let failure = OptionValue.failure(error, at: file.place(of: entry)) {
        throw ConfigurationFlaw(line: entry.line, failure: failure)
      }
      let message = FileOptions<Command>.message(for: error)
      throw file.failure(entry.line, message.asSentence + ValueHint.text(for: message))
    }
  }
}

/// The options that a file may set, as the parser knows them.
private struct FileFacts<Command: DaemonCommand> {
  private let options: [String: ArgumentFacts]
  private let daemon: Set<String>

  init() {
    func names(_ facts: [ArgumentFacts]) -> [(String, ArgumentFacts)] {
      facts.flatMap { fact in fact.names.filter { $0.hasPrefix("--") }.map { (String($0.dropFirst(2)), fact) } }
        .filter { $0.0 != "help" && $0.0 != "version" }
    }
    options = Dictionary(names(ArgumentFacts.all(of: FileOptions<Command>.self))) { first, _ in first }
    daemon = Set(names(ArgumentFacts.all(of: DaemonOptions.self)).map(\.0))
  }

  var names: [String] { options.keys.sorted() }

  func option(_ name: String) -> ArgumentFacts? { options[name] }

  func concernsDaemon(_ name: String) -> Bool { daemon.contains(name) }
}

/// The options that a daemon's file may set: all but those that name the file.
private struct FileOptions<Command: DaemonCommand>: ParsableArguments {
  @OptionGroup var member: Command.Options
  @OptionGroup var daemon: DaemonOptions
}
