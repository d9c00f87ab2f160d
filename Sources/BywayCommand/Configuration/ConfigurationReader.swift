import ArgumentParser
import Byway
import Primitives

/// Turns a file's settings into a command, as if they had been given on its command line.
struct ConfigurationReader<Command: DaemonCommand> {
  private let file: ConfigurationFile
  /// Of the command already; what they set counts more than the file.
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

  /// Those that may stand in a file, as they are written on a command line.
  static var optionNames: Set<String> { Set(FileFacts<Command>().names.map { "--\($0)" }) }

  /// What sections say whose other lines are wrong, by their names.
  private(set) var sound: [(name: String, command: Command)] = []

  /// Those of lines, and those that no line is to blame for.
  var flaws: [OptionFlaw] {
    lineFailures.map { OptionFlaw(line: $0.line, failure: $0.failure) }
      + wholeFailures.map { OptionFlaw(line: nil, failure: $0) }
  }

  /// - Parameter section: `nil` in a file that has none.
  /// - Returns: `nil` where something is wrong: that is among ``flaws`` then.
  mutating func command(of section: ConfigurationFile.Section?) -> Command? {
    if let command = soundCommand(of: section) { return command }
    let known = lineFailures.count
    let own = Set((section?.entries ?? []).map(\.name)).filter { !facts.concernsDaemon($0) }
    // A section's own value takes the place of what holds for all.
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

  /// Most files are right, and then it is enough to read them once. `nil` where something is wrong, which is found line by line.
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

  /// The time that ArgumentParser takes grows with the square of the number of words, so that long lists go past it.
  private func parse(_ words: [String]) throws -> Command {
    var lists: [String: [String]] = [:]
    var others: [String] = []
    for word in words {
      let name = word.prefix { $0 != "=" }
      if Command.Member.Options.lists.contains(String(name)), name.count < word.count {
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
        // What stands before the first section is read once for each of them.
        if !lineFailures.contains(where: { $0.failure.message == error.failure.message }) { lineFailures.append(error) }
      }
    }
    return words
  }

  /// Of an option that is set twice the parser would take the last, and say nothing.
  private mutating func checkRepetition(in entries: [ConfigurationFile.Entry]) {
    var lines: [String: Int] = [:]
    for entry in entries {
      guard let before = lines.updateValue(entry.line, forKey: entry.name) else { continue }
      guard let option = facts.option(entry.name), !option.isRepeating else { continue }
      lineFailures.append(
        file.failure(entry.line, "\(entry.name) is already set on line \(before): leave one of them out."))
    }
  }

  /// What would be given on the command line.
  private func words(
    of entry: ConfigurationFile.Entry, in section: ConfigurationFile.Section?
  ) throws(ConfigurationFlaw) -> [String] {
    let name = "--\(entry.name)"
    guard let option = facts.option(entry.name) else {
      let hint = Spelling.nearest(to: entry.name, among: facts.names).map { " Did you mean \"\($0)\"?" } ?? ""
      throw file.failure(entry.line, "\"\(entry.name)\" is not an option that may stand here.\(hint)")
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

  /// Has the parser read a value, and what it leaves as text.
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

/// What the parser knows of the options that a file may have, so that nobody has to list them.
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

/// What may stand in a daemon's file: all but the options that say which file that is.
private struct FileOptions<Command: DaemonCommand>: ParsableArguments {
  @OptionGroup var member: Command.Member.Options
  @OptionGroup var daemon: DaemonOptions
}
