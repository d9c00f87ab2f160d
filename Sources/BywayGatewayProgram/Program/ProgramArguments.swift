import BywayDaemonProcess
import BywayPrimitives
import BywayTerminal

/// The arguments of byway-gateway. Errors have the words and the status that `byway gateway` gives them.
enum ProgramArguments: Sendable {
  case run(ProgramSettings)
  case help
  case version

  /// Reads the arguments after the program's name.
  init(_ arguments: [String]) throws(CommandFailure) {
    var settings = ProgramSettings()
    var seen: Set<String> = []
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--help", "-h":
        self = .help
        return
      case "--version":
        self = .version
        return
      default: break
      }
      guard argument.hasPrefix("-") else { throw Self.failure("Unexpected argument '\(argument)'.") }
      let name = String(argument.prefix { $0 != "=" })
      guard let option = ProgramOption.all.first(where: { $0.name == name }) else { throw Self.unknown(name) }
      var value = name.utf8.count < argument.utf8.count ? String(argument.dropFirst(name.count + 1)) : nil
      if case .flag(let set) = option.reading {
        if let value {
          throw Self.failure("The option '\(name)' does not take any value, but '\(value)' was specified.")
        }
        set(&settings)
        continue
      }
      if value == nil, rest.first?.hasPrefix("-") == false { value = rest.popFirst() }
      guard let value else { throw Self.failure("Missing value for '\(option.usage)'.") }
      if case .many(_, let add) = option.reading {
        add(&settings, value)
        continue
      }
      guard seen.insert(name).inserted else {
        throw CommandFailure(.usage, "\(name) can only be given once: leave one of them out.")
      }
      if case .one(_, let read) = option.reading, !read(&settings, value) {
        throw Self.failure("The value '\(value)' is invalid for '\(option.usage)'.\(Self.hint(for: option))")
      }
    }
    if let mistake = MemoryLimit.mistake(in: settings.memoryBudget?.bytes) { throw Self.failure(mistake) }
    self = .run(settings)
  }

  private static func unknown(_ name: String) -> CommandFailure {
    if ProgramOption.omitted.contains(name) {
      return CommandFailure(
        .usage,
        "\(name) is an option of \"byway gateway\" only: leave it out, or use the command byway instead of byway-gateway."
      )
    }
    let names = ProgramOption.all.map(\.name) + ProgramOption.omitted.sorted()
    let hint = Spelling.nearest(to: name, among: names).map { " Did you mean '\($0)'?" } ?? ""
    return failure("Unknown option '\(name)'.\(hint)")
  }

  private static func hint(for option: ProgramOption) -> String {
    switch option.valueName {
    case "level": choice(LogLevel.names)
    case "format":
      // The parser of the command lists up to three values in this way.
      " Please provide one of \(LogFormat.allCases.dropLast().map { "'\($0)'" }.joined(separator: ", ")) or '\(LogFormat.journal)'."
    case let kind?: ValueHint.text(ofKind: kind)
    case nil: ""
    }
  }

  private static func choice(_ names: String) -> String { " Please provide one of the following: \(names)." }

  private static func failure(_ message: String) -> CommandFailure {
    CommandFailure(.usage, "\(message) Try: byway-gateway --help")
  }
}
