import ArgumentParser
import BywayTerminal

/// A check for options that are given more than once but take one value. The parser would silently use the last value.
enum OptionCount {
  /// - Parameter arguments: The arguments of a command line that the parser has accepted.
  /// - Throws: ``CommandFailure`` with the option's name.
  static func check(_ arguments: [String], of command: any ParsableArguments.Type) throws(CommandFailure) {
    guard mayRepeat(arguments) else { return }
    let facts = ArgumentFacts.all(of: command)
    var seen: Set<[String]> = []
    for given in occurrences(in: arguments, facts) {
      // The values are not repeated: one may be a password.
      guard seen.insert(given.option.names).inserted else {
        throw CommandFailure(
          .usage, "\(given.name) can only be given once: leave one of them out.")
      }
    }
  }

  /// Returns whether the full check is needed. Most command lines do not need it, and a daemon saves its memory.
  private static func mayRepeat(_ arguments: [String]) -> Bool {
    var names: Set<Substring> = []
    for argument in arguments where argument.hasPrefix("-") {
      // Further options may follow a short one in the same word.
      guard argument.hasPrefix("--"), names.insert(argument.prefix { $0 != "=" }).inserted else { return true }
    }
    return false
  }

  private static func occurrences(
    in arguments: [String], _ facts: [ArgumentFacts]
  ) -> [(option: ArgumentFacts, name: String, value: String)] {
    var found: [(option: ArgumentFacts, name: String, value: String)] = []
    var rest = arguments[...]

    /// - Parameter value: The value in the same word; `nil` if the value is the next word.
    func take(_ option: ArgumentFacts, _ name: String, _ value: Substring?) {
      let value = value.map(String.init) ?? rest.popFirst() ?? ""
      if !option.isRepeating { found.append((option, name, value)) }
    }

    while let argument = rest.popFirst(), argument != "--" {
      if argument.hasPrefix("--") {
        let name = String(argument.prefix { $0 != "=" })
        guard let option = facts.first(where: { $0.names.contains(name) }), option.kind == .option else { continue }
        take(option, name, name.count < argument.count ? argument.dropFirst(name.count + 1) : nil)
      } else if argument.hasPrefix("-") {
        var letters = argument.dropFirst()
        while let letter = letters.popFirst(), let option = facts.first(where: { $0.names.contains("-\(letter)") }) {
          guard option.kind == .option else { continue }
          take(option, "-\(letter)", letters.isEmpty ? nil : letters)
          break
        }
      }
    }
    return found
  }
}
