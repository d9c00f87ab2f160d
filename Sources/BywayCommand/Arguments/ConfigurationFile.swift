import Byway

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
        throw Self.failure(path, index + 1, "\"\(content)\" is no setting: write name = value.")
      }
      let name = content[..<equals].trimmed()
      let value = content[content.index(after: equals)...].trimmed()
      guard !name.isEmpty, !value.isEmpty else {
        throw Self.failure(path, index + 1, "\"\(content)\" is no setting: write name = value.")
      }
      entries.append(Entry(line: index + 1, name: String(name), value: String(value)))
    }
    self.entries = entries
  }

  /// The same settings as arguments.
  /// - Parameters:
  ///   - options: what may be set to a value.
  ///   - flags: what is set to `yes` or `no`.
  ///   - check: throws where these arguments cannot be parsed; its message is told with the line.
  func arguments(
    options: [String], flags: [String], check: ([String]) throws -> Void
  ) throws -> [String] {
    try entries.flatMap { entry in
      let arguments = try arguments(of: entry, options: options, flags: flags)
      do {
        try check(arguments)
      } catch {
        throw Self.failure(path, entry.line, "\"\(entry.value)\" is no value for \(entry.name).")
      }
      return arguments
    }
  }

  private func arguments(of entry: Entry, options: [String], flags: [String]) throws -> [String] {
    if options.contains(entry.name) { return ["--\(entry.name)=\(entry.value)"] }
    guard flags.contains(entry.name) else {
      let hint = Spelling.hint(for: entry.name, among: (options + flags).sorted())
      throw Self.failure(path, entry.line, "Unknown option \"\(entry.name)\".\(hint)")
    }
    switch entry.value {
    case "yes": return ["--\(entry.name)"]
    case "no": return []
    default: throw Self.failure(path, entry.line, "\(entry.name) is yes or no, not \"\(entry.value)\".")
    }
  }

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
