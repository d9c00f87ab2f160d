import Byway
import BywayHTTPWire
import BywayPrimitives
import HTTPTypes
import NIOCore

/// A parser for the text of a ``StubFile``.
package struct StubFileParser {
  private let path: String
  private let folder: String?
  private let lines: [Substring]

  /// - Parameter folder: The folder of the files that rules name; `nil` if the text comes from a page: it may then name no files, and
  ///   set no fields of the connection.
  package init(_ text: String, path: String, folder: String?) {
    self.path = path
    self.folder = folder
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Substring($0) }
    // Some editors end every line with CR LF; in the output of curl only the lines of the head end so.
    let isOfSuchEditor = lines.first { $0.hasPrefix("###") }?.endsInReturn ?? false
    self.lines = isOfSuchEditor ? lines.map(\.withoutReturn) : lines
  }

  package func rules() throws -> [StubRule] {
    let starts = lines.indices.filter { lines[$0].hasPrefix("###") }
    for index in 0..<(starts.first ?? lines.count) {
      guard lines[index].isBlank || lines[index].hasPrefix("#") else {
        throw failure(index, "a rule begins with ### METHOD PATH")
      }
    }
    return try zip(starts, starts.dropFirst() + [lines.count]).map { try rule(from: $0, to: $1) }
  }

  private func rule(from start: Int, to end: Int) throws -> StubRule {
    let words = lines[start].dropFirst(3).split { $0 == " " || $0 == "\t" }
    guard words.count >= 2, words[0] == "*" || HTTPRequest.Method(String(words[0])) != nil else {
      throw failure(start, "write ### METHOD PATH, with * for any method")
    }
    guard let slash = words[1].firstIndex(of: "/") else { throw failure(start, "\"\(words[1])\" has no path") }
    let isPrefix = words[1].hasSuffix("*")
    let host = words[1][..<slash]
    do throws(AuthorityFlaw) {
      if !host.isEmpty { _ = try Authority(String(host)) }
    } catch {
      throw failure(start, "\"\(host)\" is not a host: \(error)")
    }
    return StubRule(
      method: words[0] == "*" ? nil : String(words[0]),
      host: host.isEmpty ? nil : CanonicalURI.authority(String(host), scheme: "http"),
      path: CanonicalURI.path(String(isPrefix ? words[1][slash...].dropLast() : words[1][slash...])),
      isPrefix: isPrefix, answer: try answer(words.dropFirst(2), at: start, to: end))
  }

  private func answer(_ options: ArraySlice<Substring>, at start: Int, to end: Int) throws -> Stub.Answer {
    let options = try Options(options) { failure(start, $0) }
    var answer: Stub.Answer
    if let error = options.failure {
      answer = .failing(error)
    } else {
      answer = try response(from: start + 1, to: end)
    }
    if let rate = options.rate { answer = answer.throttled(to: rate) }
    if let delay = options.delay { answer = answer.delayed(by: delay) }
    return answer
  }

  private func response(from start: Int, to end: Int) throws -> Stub.Answer {
    guard let first = lines[start..<end].firstIndex(where: { !$0.isBlank }) else {
      throw failure(start - 1, "the rule has no answer: write HTTP/1.1 200 below it, or add fail=linkLost to the rule")
    }
    let words = lines[first].withoutReturn.split(separator: " ")
    guard words.count >= 2, words[0].hasPrefix("HTTP/"), let code = Int(words[1]), (200...599).contains(code) else {
      throw failure(first, "\"\(lines[first])\" is not a status line: write HTTP/1.1 200")
    }
    let headEnd = lines[(first + 1)..<end].firstIndex { $0.isBlank } ?? end
    var fields = HTTPFields()
    for index in (first + 1)..<headEnd {
      let line = lines[index].withoutReturn
      let name = line.prefix { $0 != ":" }
      guard let field = HTTPField.Name(String(name)), name.count < line.count else {
        throw failure(index, "\"\(line)\" is not a field: write NAME: VALUE")
      }
      if folder == nil, field.isOfConnection { throw failure(index, "\(field) is set by Byway: leave it out") }
      fields.append(HTTPField(name: field, value: line.dropFirst(name.count + 1).trimmed))
    }
    let length = fields[.contentLength].flatMap { Int($0) }
    // In the output of curl, these fields are about its connection.
    for name in [HTTPField.Name.transferEncoding, .connection, .contentLength] { fields[name] = nil }
    let body = StubBody(
      lines[min(headEnd + 1, end)..<end], isLast: end == lines.count, length: length,
      isCopied: lines[first].endsInReturn)
    switch body.content {
    case .file(let name):
      guard let folder else {
        throw failure(min(headEnd + 1, end - 1), "it names a file, which only a stub file may: write the body itself")
      }
      let path = name.hasPrefix("/") ? name : "\(folder)/\(name)"
      return .file(path, status: .init(code: code), fields: fields)
    case .bytes(let bytes): return .fixed(.init(code: code), fields: fields, body: Body(bytes))
    }
  }

  private func failure(_ line: Int, _ reason: String) -> BywayError {
    BywayError(.invalidRequest, "\(path), line \(line + 1): \(reason).", processing: .none)
  }
}

/// The options after a rule's path.
private struct Options {
  var delay: Duration?
  var rate: Int?
  var failure: BywayError?

  init(_ words: ArraySlice<Substring>, _ fail: (String) -> BywayError) throws {
    for word in words {
      let name = word.prefix { $0 != "=" }
      let value = word.dropFirst(name.count + 1)
      switch name {
      case "delay":
        guard let delay = Self.duration(value) else {
          throw fail("\"\(word)\" is not a time: write delay=300ms or delay=2s")
        }
        self.delay = delay
      case "rate":
        guard let rate = Int(value), rate > 0 else {
          throw fail("\"\(word)\" is not a rate: write rate=11520, bytes a second")
        }
        self.rate = rate
      case "fail":
        guard let code = Self.codes.first(where: { $0.description == value }) else {
          throw fail(
            "no failure is called \"\(value)\"."
              + Spelling.hint(for: String(value), among: Self.codes.map(\.description)))
        }
        failure = BywayError(code, "The stub fails as its file says.")
      default:
        throw fail(
          "no option is called \"\(name)\"." + Spelling.hint(for: String(name), among: ["delay", "rate", "fail"]))
      }
    }
  }

  private static func duration(_ text: Substring) -> Duration? {
    let unit: (String, Duration) = text.hasSuffix("ms") ? ("ms", .milliseconds(1)) : ("s", .seconds(1))
    guard text.hasSuffix(unit.0), let count = Int(text.dropLast(unit.0.count)), (0...86_400_000).contains(count) else {
      return nil
    }
    return unit.1 * count
  }

  private static let codes: [BywayError.Code] = [
    .linkUnavailable, .linkLost, .protocolViolation, .originUnavailable, .originUntrusted, .originLost,
    .incompleteResponse, .timedOut, .forbidden, .refused,
  ]
}

extension HTTPField.Name {
  /// Whether it is a field of the connection. A length is not: it tells where a stub's body ends.
  fileprivate var isOfConnection: Bool {
    self != .contentLength && ConnectionFields.names.contains(canonicalName)
  }
}

extension Substring {
  var isBlank: Bool { utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D } }
  fileprivate var endsInReturn: Bool { utf8.last == 0x0D }
  fileprivate var withoutReturn: Substring { endsInReturn ? Substring(utf8.dropLast()) : self }
}
