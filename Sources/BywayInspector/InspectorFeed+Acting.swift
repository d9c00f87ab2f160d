import Byway
import HTTPTypes
import NIOCore
import Primitives

/// What who has the token may ask for.
extension InspectorFeed {
  func allowed(_ request: Request) -> Bool {
    HTTPField.Name("byway-token").map { request.head.headerFields[$0] == token } ?? false
  }

  static let forbidden = text(
    "This needs the token of the URL that the command has printed.\n", .forbidden)

  func act(_ path: [String], _ request: Request) async throws -> Response {
    switch path.first {
    case "clear" where path.count == 1:
      inspector.clear()
      return Response(status: .noContent)
    case "hindrances": return try await hinder(Array(path.dropFirst()), request)
    case "line" where path.count == 1: return try await setLine(request)
    default: break
    }
    guard let sighting = exchange(path) else { return Self.notFound }
    switch path.dropFirst(2) {
    case ["stub"]: return Self.text(try StubText.of(view.traced(sighting)), .ok)
    case ["resend"]:
      guard let send = actions.send else { return Self.text("Only a proxy sends requests again.\n", .notImplemented) }
      let changes = try ResendChanges(String(buffer: try await Self.body(of: request)))
      let next = inspector.read(\.nextID)
      try resending.begin(try changes.request(from: sighting), at: sighting.record.listener, send)
      return try await sent(from: next, instead: sighting.id)
    default: return Self.notFound
    }
  }

  static func refusal(_ error: BywayError) -> Response {
    let status: HTTPResponse.Status =
      switch error.code {
      case .refused: .serviceUnavailable
      case .invalidRequest: .badRequest
      case .timedOut: .requestTimeout
      default: .conflict
      }
    return text("\(error.message)\n", status)
  }

  // MARK: Making it harder

  private func hinder(_ path: [String], _ request: Request) async throws -> Response {
    guard let hindrances = actions.hindrances else {
      return Self.text("Requests cannot be hindered here.\n", .notImplemented)
    }
    if path.count == 2, path[1] == "remove", let id = Int(path[0]) {
      return hindrances.remove(id) ? Self.json(HindranceText.list(actions)) : Self.notFound
    }
    guard path.isEmpty else { return Self.notFound }
    _ = try hindrances.add(HindranceText.hindrance(String(buffer: try await Self.body(of: request))))
    return Self.json(HindranceText.list(actions))
  }

  private func setLine(_ request: Request) async throws -> Response {
    guard let line = actions.line else {
      return Self.text("There is no emulated line here: byway demo has one.\n", .notImplemented)
    }
    let json = JSON(parsing: String(buffer: try await Self.body(of: request)))
    if let rate = json?["errors"]?.text, !line.setErrorRate(rate) {
      return Self.text(
        "The line has no such rate of errors: \(line.errorRates.joined(separator: ", ")).\n", .badRequest)
    }
    if case .bool(let isPulled)? = json?["pulled"] { line.setPulled(isPulled) }
    return Self.json(HindranceText.list(actions))
  }

  /// Of a request, as JSON.
  private static let mostChanged = 4 << 20
  private static let patience = Duration.seconds(30)

  private static func body(of request: Request) async throws -> ByteBuffer {
    let late = BywayError(.timedOut, "The request's body has not come within 30 s.", processing: .none)
    return try await withTimeLimit(patience, throwing: late) { try await request.body.collect(upTo: mostChanged) }
  }

  /// When it is on its way, it is known.
  private func sent(from next: Int, instead id: Int) async throws -> Response {
    for _ in 0..<100 {
      if let sighting = inspector.read({ $0.first(from: next, at: Resending.listener) }) {
        inspector.note(sighting.id, resends: id)
        return Self.json(["id": .number(sighting.id)])
      }
      try await Task.sleep(for: .milliseconds(10))
    }
    return Self.text("It could not be sent.\n", .badGateway)
  }
}
