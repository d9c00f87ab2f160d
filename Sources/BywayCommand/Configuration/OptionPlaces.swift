import BywayDaemon
import BywayDaemonProcess
import BywayTerminal

/// The places of a plan's options: a line of its file, or the command line.
struct OptionPlaces: Sendable {
  private let file: ConfigurationFile?
  /// The options on the command line, which override the file.
  private let given: Set<String>

  init(_ file: ConfigurationFile?, beneath arguments: [String]) {
    self.file = file
    given = Set(arguments.map { String($0.prefix { $0 != "=" }) })
  }

  /// - Parameters:
  ///   - option: `--listen`
  ///   - value: One of several values; `nil` if there is only one.
  ///   - section: The section's name; empty outside of sections.
  /// - Returns: The beginning of a message about the option, and its line if it has one.
  func place(of option: String, _ value: String? = nil, in section: String = "") -> (line: Int?, text: String) {
    guard let file, !given.contains(option) else { return (nil, "\(option): ") }
    let own = file.sections.first { $0.name == section }?.entries ?? []
    let name = option.dropFirst(2)
    for entries in [own, file.entries] {
      let entries = entries.filter { $0.name == name }
      guard let entry = entries.first(where: { $0.value == value }) ?? entries.first else { continue }
      return (entry.line, "\(file.place(of: entry)): \(option): ")
    }
    return (nil, "\(option): ")
  }

  func flaws<Member: DaemonMember>(
    of checks: [OptionCheck], in section: String = "", of kind: Member.Type
  ) -> [OptionFlaw] {
    checks.compactMap { check in
      do {
        try check.run()
        return nil
      } catch {
        return flaw(error.asFailure, at: check.option, check.value, in: section, of: kind)
      }
    }
  }

  func flaw<Member: DaemonMember>(
    _ failure: CommandFailure, at option: String, _ value: String?, in section: String, of _: Member.Type
  ) -> OptionFlaw {
    let place = place(of: option, value, in: section)
    guard let line = place.line else {
      return OptionFlaw(line: nil, failure: failure.at(Member.place(of: section) + place.text))
    }
    return OptionFlaw(line: line, failure: failure.at(place.text).inWordsOfFile([option]))
  }
}

extension CommandFailure {
  /// Rewrites options the way they are written in a file: `link = unix:/run/byway.sock` in place of `--link unix:/run/byway.sock`.
  /// - Parameter names: The options that a file may set.
  func inWordsOfFile(_ names: Set<String>) -> CommandFailure {
    let words = message.split(separator: " ", omittingEmptySubsequences: false)
    var text: [Substring] = []
    for (index, word) in words.enumerated() {
      let name = word.prefix { $0.isLetter || $0 == "-" }
      guard name.hasPrefix("--"), names.contains(String(name)) else {
        text.append(word)
        continue
      }
      text.append(word.dropFirst(2))
      // The next word is a value, unless it looks like a word of the sentence.
      let next = words.dropFirst(index + 1).first ?? ""
      if name == word, next.contains(where: { ":/=0123456789".contains($0) }) || next.first?.isUppercase == true {
        text.append("=")
      }
    }
    return CommandFailure(status, text.joined(separator: " "))
  }
}
