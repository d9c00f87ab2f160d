import Byway
import BywayHTTPWire
import BywayInterceptors
import BywayPrimitives
import HTTPTypes

/// The JSON format of fault rules, for programs and pages: docs/inspector.md.
enum FaultRuleText {
  private static let longest = Duration.seconds(3600)

  /// Reads a fault rule.
  /// - Parameter text: a scope (`method`, `host`, `path`) and one effect: `delay`, `rate`, `status` or `cut`.
  /// - Throws: `BywayError` if the text is invalid.
  static func faultRule(_ text: String) throws -> FaultRule {
    guard let json = JSON(parsing: text), case .object = json else { throw wrong("it is not a JSON object") }
    return FaultRule(try effect(json), of: try scope(json))
  }

  private static func effect(_ json: JSON) throws -> FaultRule.Effect {
    let effects: [FaultRule.Effect?] = [
      try number(json, "delay", 1...Int(longest / .milliseconds(1))).map { .delay(.milliseconds($0)) },
      try number(json, "rate", 1...1_000_000_000).map { .pace($0) },
      try number(json, "status", 200...599).map { .answer(.init(code: $0)) },
      try number(json, "cut", 0...Int(Int32.max)).map { .cut($0) },
    ]
    let given = effects.compactMap(\.self)
    guard given.count == 1 else { throw wrong("it must have exactly one of delay, rate, status and cut") }
    return given[0]
  }

  private static func number(_ json: JSON, _ name: String, _ range: ClosedRange<Int>) throws -> Int? {
    guard let value = json[name] else { return nil }
    guard case .number(let text) = value, let number = Int(text), range.contains(number) else {
      throw wrong("\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  private static func scope(_ json: JSON) throws -> Scope {
    var scope = Scope()
    if let text = json["method"]?.text {
      guard let method = HTTPRequest.Method(text) else { throw wrong("\"\(text.visible)\" is not a method") }
      scope.methods = [method]
    }
    if let host = json["host"]?.text {
      guard (try? HostPattern(host)) != nil else {
        throw wrong("\"\(host.visible)\" is not a host: write it without a port, as printer.localhost or *.example.com")
      }
      scope.hosts = [host]
    }
    if let path = json["path"]?.text {
      guard path.hasPrefix("/") else { throw wrong("a path begins with /") }
      scope.paths = [path]
    }
    return scope
  }

  private static func wrong(_ reason: String) -> BywayError {
    BywayError(.invalidRequest, "The fault rule is invalid: \(reason).", processing: .none)
  }

  // MARK: Listing

  static func list(_ actions: InspectorActions) -> JSON {
    [
      "schema": 1,
      "faults": actions.faultRules.map { .array($0.all.entries.map(json)) },
      "line": actions.line.map { line in
        [
          "pulled": .bool(line.isPulled), "errors": .string(line.errorRate),
          "rates": .array(line.errorRates.map { .string($0) }),
        ]
      },
    ]
  }

  private static func json(_ entry: FaultRules.Entry) -> JSON {
    let scope = entry.faultRule.scope
    var members: [JSON.Member] = [.init("id", .number(entry.id)), .init("hits", .number(entry.hits))]
    if let method = scope.methods.first { members.append(.init("method", .string(method.rawValue))) }
    if let host = scope.hosts.first { members.append(.init("host", .string(host))) }
    if let path = scope.paths.first { members.append(.init("path", .string(path))) }
    switch entry.faultRule.effect {
    case .delay(let time): members.append(.init("delay", .number(Int(time / .milliseconds(1)))))
    case .pace(let rate): members.append(.init("rate", .number(rate)))
    case .answer(let status): members.append(.init("status", .number(status.code)))
    case .cut(let count): members.append(.init("cut", .number(count)))
    }
    return .object(members)
  }
}
