import Byway
import BywayHTTPWire
import BywayInterceptors
import BywayPrimitives
import HTTPTypes

/// The JSON format of rules, for programs and pages: docs/inspector.md.
struct RuleText {
  private static let longest = Duration.seconds(3600)

  /// The name of the kind of rule, for messages.
  private let name: String
  private let json: JSON

  /// - Throws: `BywayError` if the text is invalid.
  private init(_ text: String, _ name: String, members known: [String]) throws {
    self.name = name
    guard let json = JSON(parsing: text), case .object = json else {
      throw Self.wrong(name, "it is not a JSON object")
    }
    // A misspelt condition would make a rule for every request.
    if let reason = json.unknownMember(besides: known) { throw Self.wrong(name, reason) }
    self.json = json
  }

  private static let conditions = ["method", "host", "path"]

  // MARK: Kinds

  /// Reads a fault rule.
  /// - Parameter text: a scope (`method`, `host`, `path`) and one effect: `delay`, `rate`, `status` or `cut`.
  /// - Throws: `BywayError` if the text is invalid.
  static func faultRule(_ text: String) throws -> FaultRule {
    let rule = try RuleText(text, FaultRule.terms.name, members: conditions + ["delay", "rate", "status", "cut"])
    let effects: [FaultRule.Effect?] = [
      try rule.number("delay", 1...Int(longest / .milliseconds(1))).map { .delay(.milliseconds($0)) },
      try rule.number("rate", 1...1_000_000_000).map { .pace($0) },
      try rule.number("status", 200...599).map { .answer(.init(code: $0)) },
      try rule.number("cut", 0...Int(Int32.max)).map { .cut($0) },
    ]
    let given = effects.compactMap(\.self)
    guard given.count == 1 else { throw rule.wrong("it must have exactly one of delay, rate, status and cut") }
    return FaultRule(given[0], of: try rule.scope())
  }

  /// Reads a breakpoint.
  /// - Parameter text: a scope, `on`, and for responses optionally a `status`: `"404"` or `"4xx"`.
  /// - Throws: `BywayError` if the text is invalid.
  static func breakpoint(_ text: String) throws -> BreakpointRule {
    let rule = try RuleText(text, BreakpointRule.terms.name, members: conditions + ["on", "status"])
    guard let point = try rule.text("on").flatMap({ BreakpointRule.Point(rawValue: $0) }) else {
      throw rule.wrong("on must be request or response")
    }
    let statuses = try rule.text("status").map(rule.statuses)
    guard point == .response || statuses == nil else {
      throw rule.wrong("a request has no status: leave it out, or choose the response")
    }
    return BreakpointRule(scope: try rule.scope(), point: point, statuses: statuses)
  }

  /// Reads a stub.
  /// - Parameter text: `text`, one rule of a stub file.
  /// - Throws: `BywayError` if the text is invalid.
  static func stub(_ text: String) throws -> LiveStub {
    let rule = try RuleText(text, LiveStub.terms.name, members: ["text"])
    guard let stub = try rule.text("text") else { throw rule.wrong("it has no text") }
    return try LiveStub(stub)
  }

  // MARK: Parts

  private func statuses(_ text: String) throws -> ClosedRange<Int> {
    let isClass = text.lowercased().hasSuffix("xx")
    let digits = isClass ? text.dropLast(2) + "00" : text[...]
    guard digits.utf8.count == 3, let code = Int(digits), (200...599).contains(code) else {
      throw wrong("status must be a status from 200 to 599, or 2xx, 3xx, 4xx or 5xx")
    }
    return code...(isClass ? code + 99 : code)
  }

  private func text(_ name: String) throws -> String? {
    guard let value = json[name] else { return nil }
    guard let text = value.text else { throw wrong("\(name) must be text") }
    return text
  }

  private func number(_ name: String, _ range: ClosedRange<Int>) throws -> Int? {
    guard let value = json[name] else { return nil }
    guard case .number(let text) = value, let number = Int(text), range.contains(number) else {
      throw wrong("\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  private func scope() throws -> Scope {
    var scope = Scope()
    if let text = try text("method") {
      guard let method = HTTPRequest.Method(text) else { throw wrong("\"\(text.visible)\" is not a method") }
      scope.methods = [method]
    }
    if let host = try text("host") {
      guard (try? HostPattern(host)) != nil else {
        throw wrong("\"\(host.visible)\" is not a host: write it without a port, as printer.localhost or *.example.com")
      }
      scope.hosts = [host]
    }
    if let path = try text("path") {
      guard path.hasPrefix("/") else { throw wrong("a path begins with /") }
      scope.paths = [path]
    }
    return scope
  }

  private func wrong(_ reason: String) -> BywayError { Self.wrong(name, reason) }

  private static func wrong(_ name: String, _ reason: String) -> BywayError {
    BywayError(.invalidRequest, "The \(name) is invalid: \(reason).", processing: .none)
  }

  // MARK: Listing

  static func list(_ actions: InspectorActions) -> JSON {
    let rules = actions.rules
    return [
      "schema": 1,
      "faults": rules.map { list($0.faults.list) { members(of: $0.scope) + effect(of: $0) } },
      "breakpoints": rules.map {
        list($0.breakpoints.list) { rule in
          members(of: rule.scope) + [.init("on", .string(rule.point.rawValue))]
            + (rule.statuses.map { [.init("status", .string(name(of: $0)))] } ?? [])
        }
      },
      "stubs": rules.map {
        list($0.stubs.list) { [.init("title", .string($0.title)), .init("bytes", .number($0.byteCount))] }
      },
      "line": actions.line.map { line in
        [
          "pulled": .bool(line.isPulled), "errors": .string(line.errorRate),
          "rates": .array(line.errorRates.map { .string($0) }),
        ]
      },
    ]
  }

  private static func list<Rule>(_ list: RuleList<Rule>, _ members: (Rule) -> [JSON.Member]) -> JSON {
    .array(
      list.entries.map { entry in
        .object([.init("id", .number(entry.id)), .init("hits", .number(entry.hits))] + members(entry.rule))
      })
  }

  private static func members(of scope: Scope) -> [JSON.Member] {
    (scope.methods.first.map { [.init("method", .string($0.rawValue))] } ?? [])
      + (scope.hosts.first.map { [.init("host", .string($0))] } ?? [])
      + (scope.paths.first.map { [.init("path", .string($0))] } ?? [])
  }

  private static func effect(of rule: FaultRule) -> [JSON.Member] {
    switch rule.effect {
    case .delay(let time): [.init("delay", .number(Int(time / .milliseconds(1))))]
    case .pace(let rate): [.init("rate", .number(rate))]
    case .answer(let status): [.init("status", .number(status.code))]
    case .cut(let count): [.init("cut", .number(count))]
    }
  }

  private static func name(of statuses: ClosedRange<Int>) -> String {
    statuses.count == 1 ? "\(statuses.lowerBound)" : "\(statuses.lowerBound / 100)xx"
  }
}
