import Byway
import BywayInterceptors
import BywayPrimitives
import HTTPTypes
import NIOCore

/// Requests that need the token.
extension InspectorFeed {
  func allowed(_ request: Request) -> Bool {
    HTTPField.Name("byway-token").map { request.head.headerFields[$0] == token } ?? false
      || isEvents(request) && Self.parameter("token", of: request) == token
  }

  /// A browser's EventSource sends no fields of its own.
  private func isEvents(_ request: Request) -> Bool {
    request.head.method == .get && request.head.path?.prefix { $0 != "?" } == "/api/events"
  }

  static var forbidden: Response { text("This needs the token in \(Advice.inspectorURL).\n", .forbidden) }

  func act(_ path: [String], _ request: Request) async throws -> Response {
    switch path.first {
    case "clear" where path.count == 1:
      inspector.clear()
      return Response(status: .noContent)
    case "faults":
      return try await change(actions.rules?.faults.list, path, request, RuleText.faultRule)
    case "breakpoints":
      actions.rules?.breakpoints.acted()
      return try await change(actions.rules?.breakpoints.list, path, request, RuleText.breakpoint)
    case "stubs":
      return try await change(actions.rules?.stubs.list, path, request, RuleText.stub)
    case "paused" where path.count == 3: return try await decide(path[1], path[2], request)
    case "line" where path.count == 1: return try await setLine(request)
    default: break
    }
    guard let inspected = exchange(path) else { return Self.notFound }
    switch path.dropFirst(2) {
    case ["stub"]:
      let text = try StubText.of(view.traced(inspected))
      return answer(request, "text/plain; charset=utf-8") { FeedAnswer.one(ByteBuffer(string: text)) }
    case ["resend"]:
      guard let send = actions.send else { return Self.text("Only a proxy sends requests again.\n", .notImplemented) }
      let changes = try ResendChanges(String(buffer: try await Self.body(of: request, upTo: Self.mostChanged)))
      let next = inspector.read(\.nextID)
      try resending.begin(try changes.request(from: inspected), at: inspected.record.listener, send)
      return try await sent(request, from: next, instead: inspected.id)
    default: return Self.notFound
    }
  }

  static func refusal(_ error: BywayError) -> Response {
    let status: HTTPResponse.Status =
      switch error.code {
      case .refused: .serviceUnavailable
      case .invalidRequest: .badRequest
      case .timedOut: .requestTimeout
      case .tooLarge: .contentTooLarge
      default: .conflict
      }
    return text("\(error.message)\n", status)
  }

  // MARK: Rules

  /// Adds a rule to a list, or removes one.
  private func change<Rule>(
    _ list: RuleList<Rule>?, _ path: [String], _ request: Request, _ read: (String) throws -> Rule
  ) async throws -> Response {
    guard let list else {
      return Self.text("There are no \(Rule.terms.name)s here.\n", .notImplemented)
    }
    if path.count == 3, path[2] == "remove", let id = Int(path[1]) {
      return list.remove(id) ? ruleList(request) : Self.notFound
    }
    guard path.count == 1 else { return Self.notFound }
    // The JSON of a text may be longer than the text.
    let text = String(buffer: try await Self.body(of: request, upTo: 2 * Rule.terms.size))
    try list.add(read(text))
    return ruleList(request)
  }

  func ruleList(_ request: Request) -> Response {
    json(request) { [actions] in RuleText.list(actions) }
  }

  private func setLine(_ request: Request) async throws -> Response {
    guard let line = actions.line else {
      return Self.text("There is no emulated line here: \(Advice.emulatedLine).\n", .notImplemented)
    }
    let json = JSON(parsing: String(buffer: try await Self.body(of: request, upTo: Self.mostSet)))
    if let rate = json?["errors"]?.text, !line.setErrorRate(rate) {
      return Self.text(
        "The line has no such error rate; choose one of: \(line.errorRates.joined(separator: ", ")).\n", .badRequest)
    }
    if case .bool(let isPulled)? = json?["pulled"] { line.setPulled(isPulled) }
    return ruleList(request)
  }

  /// The maximum number of bytes of the JSON of a request to be sent again.
  private static let mostChanged = 4 << 20
  /// The maximum number of bytes of the JSON with settings of a line.
  private static let mostSet = 4096
  private static let patience = Duration.seconds(30)

  static func body(of request: Request, upTo limit: Int) async throws -> ByteBuffer {
    let late = BywayError(.timedOut, "The request's body was not complete within 30 s.", processing: .none)
    return try await withTimeLimit(patience, throwing: late) { try await request.body.collect(upTo: limit) }
  }

  /// Waits until the repeated exchange has begun, and answers with its id.
  private func sent(_ request: Request, from next: Int, instead id: Int) async throws -> Response {
    for _ in 0..<100 {
      if let inspected = inspector.read({ $0.first(from: next, at: Resending.listener) }) {
        inspector.note(inspected.id, resends: id)
        return json(request) { ["id": .number(inspected.id)] }
      }
      try await Task.sleep(for: .milliseconds(10))
    }
    return Self.text("It could not be sent.\n", .badGateway)
  }
}
