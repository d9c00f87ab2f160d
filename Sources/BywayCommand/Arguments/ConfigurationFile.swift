import ArgumentParser

/// A file of `name = value` lines with the same names as the long options; `#` begins a comment line.
struct ConfigurationFile: Sendable {
  struct Entry: Sendable, Hashable {
    let line: Int
    let name: String
    let value: String
  }

  let path: String
  let entries: [Entry]

  init(path: String) throws {
    try self.init(TextFile.read(path), path: path)
  }

  /// - Throws: ``CommandFailure``, which names the line.
  init(_ text: String, path: String) throws {
    self.path = path
    var entries: [Entry] = []
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let content = line.trimmed()
      if content.isEmpty || content.hasPrefix("#") { continue }
      guard let equals = content.firstIndex(of: "=") else {
        throw Self.failure(path, index + 1, "\"\(content)\" is not a setting: write name = value.")
      }
      let name = content[..<equals].trimmed()
      let value = content[content.index(after: equals)...].trimmed()
      guard !name.isEmpty, !value.isEmpty else {
        throw Self.failure(path, index + 1, "\"\(content)\" is not a setting: write name = value.")
      }
      if let quote = value.first, "\"'".contains(quote), value.count > 1, value.last == quote {
        throw Self.failure(
          path, index + 1,
          "the value of \(name) is in quotation marks: leave them out and write \(name) = \(value.dropFirst().dropLast())."
        )
      }
      if value.contains(" #") || value.contains("\t#") {
        throw Self.failure(
          path, index + 1, "the value of \(name) has a # in it: a comment must be on a line of its own.")
      }
      entries.append(Entry(line: index + 1, name: String(name), value: String(value)))
    }
    self.entries = entries
  }

  /// The same settings as arguments of a command.
  /// - Parameters:
  ///   - others: its arguments already; what they set is left out.
  ///   - check: reads the values that the parser does not, of options that have one only.
  /// - Throws: ``CommandFailure``, which names the line.
  func arguments<Options: ParsableArguments>(
    for options: Options.Type, besides others: [String], check: (Options) throws -> Void = { _ in }
  ) throws -> [String] {
    try checkRepetition(of: options)
    let given = Set(others.map { $0.prefix { $0 != "=" } })
    return try entries.flatMap { entry in
      let arguments = try Self.arguments(of: entry, for: Options.self) { Self.failure(path, entry.line, $0) }
      if given.contains("--\(entry.name)") { return [] as [String] }
      do { try check(Options.parse(arguments)) } catch {
        throw OptionValue.failure(error, at: place(of: entry)) ?? error
      }
      return arguments
    }
  }

  /// Of an option that is set twice the parser would take the last, and say nothing.
  private func checkRepetition<Options: ParsableArguments>(of _: Options.Type) throws {
    var lines: [String: Int] = [:]
    for entry in entries {
      guard let before = lines.updateValue(entry.line, forKey: entry.name) else { continue }
      let option = ArgumentFacts.all(of: Options.self).first { $0.names.contains("--\(entry.name)") }
      guard let option, !option.isRepeating else { continue }
      throw Self.failure(path, entry.line, "\(entry.name) is already set on line \(before): leave one of them out.")
    }
  }

  /// The parser knows the names, so that nobody has to list them.
  private static func arguments<Options: ParsableArguments>(
    of entry: Entry, for _: Options.Type, failure: (String) -> CommandFailure
  ) throws -> [String] {
    let name = "--\(entry.name)"
    if (try? Options.parse([name])) != nil {
      switch entry.value {
      case "yes": return [name]
      case "no": return []
      default: throw failure("\(entry.name) is yes or no, not \"\(entry.value)\".")
      }
    }
    do {
      _ = try Options.parse(["\(name)=\(entry.value)"])
    } catch {
      // Help is an error, too.
      let isHelp = Options.exitCode(for: error) == .success
      throw failure(
        isHelp
          ? "Unknown option '\(name)'."
          : Options.message(for: error).asSentence + ValueHint.text(for: Options.message(for: error)))
    }
    return ["\(name)=\(entry.value)"]
  }

  private func place(of entry: Entry) -> String { "\(path), line \(entry.line)" }

  private static func failure(_ path: String, _ line: Int, _ message: String) -> CommandFailure {
    CommandFailure(.usage, "\(path), line \(line): \(message)")
  }
}

extension Substring {
  /// Without white space at both ends.
  fileprivate func trimmed() -> Substring {
    var text = self
    while text.first?.isWhitespace ?? false { text.removeFirst() }
    while text.last?.isWhitespace ?? false { text.removeLast() }
    return text
  }
}
