import ArgumentParser

/// Finds an option that is given twice and can be given once: of such the parser would take the last, and say nothing.
enum OptionCount {
  /// - Parameter arguments: of a command line that the parser has accepted.
  /// - Throws: ``CommandFailure``, which names the option.
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

  /// Cheap, and right for most command lines: a daemon should not need the memory for more.
  private static func mayRepeat(_ arguments: [String]) -> Bool {
    var names: Set<Substring> = []
    for argument in arguments where argument.hasPrefix("-") {
      // Behind a short one others may follow in the same word.
      guard argument.hasPrefix("--"), names.insert(argument.prefix { $0 != "=" }).inserted else { return true }
    }
    return false
  }

  private static func occurrences(
    in arguments: [String], _ facts: [ArgumentFacts]
  ) -> [(option: ArgumentFacts, name: String, value: String)] {
    var found: [(option: ArgumentFacts, name: String, value: String)] = []
    var rest = arguments[...]

    /// - Parameter value: what stands in the same word; `nil`: the next word has it.
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
