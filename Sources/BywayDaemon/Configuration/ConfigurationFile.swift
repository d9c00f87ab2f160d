package import BywayDaemonProcess
import BywayPrimitives
package import BywayTerminal

/// A file of `name = value` lines with the names of the long options. `#` begins a comment line, and `[kind name]` a section.
package struct ConfigurationFile: Sendable {
  package struct Entry: Sendable, Hashable {
    package let line: Int
    package let name: String
    package let value: String
  }

  package struct Section: Sendable, Hashable {
    let line: Int
    package let kind: String
    package let name: String
    package var entries: [Entry] = []
  }

  package let path: String
  /// The settings before the first section.
  package private(set) var entries: [Entry] = []
  package private(set) var sections: [Section] = []
  /// The errors in the file's lines.
  package private(set) var failures: [ConfigurationFlaw] = []

  /// - Parameter kinds: The kinds of sections that the file may have.
  /// - Throws: ``CommandFailure`` if the file cannot be read; errors in its lines are among ``failures``.
  package init(path: String, sections kinds: [String] = []) throws(CommandFailure) {
    self.init(try TextFile.read(path, ofUser: true), path: path, sections: kinds)
  }

  package init(_ text: String, path: String, sections kinds: [String] = []) {
    self.path = path
    var lines: [String: Int] = [:]
    // The settings of a section that cannot be read belong to no other section.
    var isSkipping = false
    // Editors of other systems may write a byte order mark first.
    let text = text.first == "\u{FEFF}" ? text.dropFirst() : text[...]
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let content = line.trimmed()
      if content.isEmpty || content.hasPrefix("#") { continue }
      do throws(Flaw) {
        if content.hasPrefix("[") {
          isSkipping = true
          sections.append(try Self.section(content, line: index + 1, kinds, besides: &lines))
          isSkipping = false
        } else {
          let entry = try Self.entry(content, line: index + 1)
          if isSkipping { continue }
          if sections.isEmpty { entries.append(entry) } else { sections[sections.count - 1].entries.append(entry) }
        }
      } catch {
        failures.append(failure(index + 1, error.message))
      }
    }
  }

  /// Returns the file with the settings in sections of one kind as settings for all: `link = X` in `[device printer]` becomes
  /// `device = printer=X`.
  /// - Parameter options: The option outside of sections for each setting of such a section.
  package func unfolding(_ kind: String, _ options: [String: String]) -> ConfigurationFile {
    var file = self
    file.sections.removeAll { $0.kind == kind }
    for section in sections where section.kind == kind {
      if section.entries.isEmpty {
        file.failures.append(failure(section.line, "[\(kind) \(section.name)] is empty: write link = … into it."))
      }
      for entry in section.entries {
        if let option = options[entry.name] {
          file.entries.append(Entry(line: entry.line, name: option, value: "\(section.name)=\(entry.value)"))
        } else {
          let known = options.keys.sorted().joined(separator: " and ")
          let message = "\"\(entry.name)\" is not allowed in [\(kind) \(section.name)], only \(known) are."
          file.failures.append(failure(entry.line, message))
        }
      }
    }
    return file
  }

  /// Returns the file with each section of one kind as a value of an option for all: `link = X` and `path = /a` in `[interceptor stamp]`
  /// become `interceptor = X?path=/a&as=stamp`.
  /// - Parameter settings: The settings of such a section besides `link`, which are options of that link.
  package func joining(_ kind: String, _ settings: [String]) -> ConfigurationFile {
    var file = self
    file.sections.removeAll { $0.kind == kind }
    for section in sections where section.kind == kind {
      guard let link = section.entries.first(where: { $0.name == "link" }) else {
        file.failures.append(failure(section.line, "[\(kind) \(section.name)] has no link: write link = … into it."))
        continue
      }
      var value = link.value
      for (name, text) in section.entries.filter({ $0 != link }).map({ ($0.name, $0.value) }) + [("as", section.name)] {
        value += "\(value == link.value && !value.contains("?") ? "?" : "&")\(name)=\(Self.encoded(text))"
      }
      for entry in section.entries where entry.name != "link" && !settings.contains(entry.name) || entry.name == "as" {
        let known = (["link"] + settings.filter { $0 != "as" }).joined(separator: ", ")
        let message = "\"\(entry.name)\" is not allowed in [\(kind) \(section.name)], only \(known) are."
        file.failures.append(failure(entry.line, message))
      }
      file.entries.append(Entry(line: link.line, name: kind, value: value))
    }
    return file
  }

  private static func encoded(_ text: String) -> String {
    PercentEncoding.encode(text) { PercentEncoding.isUnreserved($0) || "/*:".utf8.contains($0) }
  }

  package func place(of entry: Entry) -> String { "\(path), line \(entry.line)" }

  package func failure(_ line: Int, _ message: String) -> ConfigurationFlaw {
    ConfigurationFlaw(line: line, failure: CommandFailure(.usage, "\(path), line \(line): \(message)"))
  }

  // MARK: Lines

  private struct Flaw: Error {
    let message: String

    init(_ message: String) { self.message = message }
  }

  private static func entry(_ content: Substring, line: Int) throws(Flaw) -> Entry {
    guard let equals = content.firstIndex(of: "=") else {
      throw Flaw("\"\(content)\" is not a setting: write name = value.")
    }
    let name = content[..<equals].trimmed()
    let value = content[content.index(after: equals)...].trimmed()
    guard !name.isEmpty, !value.isEmpty else {
      throw Flaw("\"\(content)\" is not a setting: write name = value.")
    }
    if let quote = value.first, "\"'".contains(quote), value.count > 1, value.last == quote {
      throw Flaw(
        "the value of \(name) is in quotation marks: leave them out and write \(name) = \(value.dropFirst().dropLast())."
      )
    }
    if value.contains(" #") || value.contains("\t#") {
      throw Flaw("the value of \(name) has a # in it: a comment must be on a line of its own.")
    }
    return Entry(line: line, name: String(name), value: String(value))
  }

  /// The daemons whose files have a kind of section, if only those of one daemon have it.
  private static let owners = ["gateway": "gateway", "proxy": "proxy", "device": "proxy"]

  /// - Parameter lines: The lines of the sections so far, by the text in their brackets.
  private static func section(
    _ content: Substring, line: Int, _ kinds: [String], besides lines: inout [String: Int]
  ) throws(Flaw) -> Section {
    guard let kind = kinds.first else { throw Flaw("this file has no sections: leave \(content) out.") }
    let words = content.dropFirst().prefix { $0 != "]" }.split(whereSeparator: \.isWhitespace)
    guard content.last == "]", words.count == 2, ShortName.isValid(words[1]) else {
      throw Flaw(
        "\(content) is not the beginning of a section: write [\(kind) NAME], with letters, digits, -, _ and dots.")
    }
    guard kinds.contains(String(words[0])) else {
      if let owner = owners[String(words[0])] {
        throw Flaw(
          "\(content) is for byway \(owner), and this file is one of a \(kind): write it into a file of its own.")
      }
      throw Flaw("\"\(words[0])\" is not a kind of section here: write [\(kind) \(words[1])].")
    }
    let key = "\(words[0]) \(words[1])"
    if let before = lines[key] {
      throw Flaw("\(words[1]) is already the name of the section on line \(before): choose another.")
    }
    lines[key] = line
    return Section(line: line, kind: String(words[0]), name: String(words[1]))
  }
}

extension Substring {
  /// Returns the text without white space at either end.
  fileprivate func trimmed() -> Substring {
    var text = self
    while text.first?.isWhitespace ?? false { text.removeFirst() }
    while text.last?.isWhitespace ?? false { text.removeLast() }
    return text
  }
}
