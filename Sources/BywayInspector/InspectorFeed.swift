package import Byway
import BywayInterceptors
import HTTPTypes
import NIOCore
import Primitives
import Synchronization

/// What an inspector answers: docs/inspector.md. Safe on any thread.
package final class InspectorFeed: Sendable {
  /// Each holds a connection, and has every change written for it.
  private static let readers = 8
  /// Other answers that have not been read yet.
  private static let answers = 8

  let inspector: Inspector
  let view: SightingView
  let links = Mutex(LinkHistory())
  private let seats = Seats(InspectorFeed.readers)
  private let answerSeats = Seats(InspectorFeed.answers)
  let resending = Resending()
  let actions: InspectorActions
  /// Ids of events are of this process only.
  private let run = String(UInt32.random(in: .min ... .max), radix: 16)
  /// Who has it may act.
  package let token: String

  /// - Parameters:
  ///   - showsSecrets: to whoever asks.
  ///   - actions: what it can do besides.
  package init(_ inspector: Inspector, showsSecrets: Bool = false, _ actions: InspectorActions = InspectorActions()) {
    self.inspector = inspector
    self.actions = actions
    view = SightingView(showsSecrets: showsSecrets)
    var generator = SystemRandomNumberGenerator()
    token = (0..<2).map { _ in String(generator.next(), radix: 36) }.joined()
  }

  /// Takes down how links are now, once a second.
  package func look(_ sights: [LinkSight]) {
    let time = WallTime.now().milliseconds
    let counted = inspector.read { sightings in
      sights.map { sight in
        var sight = sight
        sight.running = Set([sight.name, sight.address]).reduce(0) { $0 + sightings.running(on: $1) }
        return sight
      }
    }
    links.withLock { $0.look(counted, at: time) }
  }

  func eventID(_ version: UInt64) -> String { "\(run)-\(version)" }

  /// `nil` where it is of another process, or is not one.
  private func version(of eventID: String) -> UInt64? {
    let parts = eventID.split(separator: "-", maxSplits: 1)
    return parts.count == 2 && parts[0] == run ? UInt64(parts[1]) : nil
  }

  // MARK: Answers

  package func respond(to request: Request) async throws -> Response {
    let path = request.head.path ?? "/"
    let place = path.prefix { $0 != "?" }
    let segments = place.split(separator: "/")
    switch (request.head.method, segments.first) {
    case (.get, "api") where segments == ["api", "har"]:
      return allowed(request) ? answer("application/json") { [self] in har() } : Self.forbidden
    case (.get, "api") where segments == ["api", "recording"]:
      return allowed(request) ? recording() : Self.forbidden
    case (.get, "api"), (.head, "api"): return read(segments.dropFirst().map(String.init), request)
    case (.post, "api"):
      guard allowed(request) else { return Self.forbidden }
      do {
        return try await act(segments.dropFirst().map(String.init), request)
      } catch let error as BywayError {
        return Self.refusal(error)
      }
    case (.get, _), (.head, _): return InspectorPage.file(at: place) ?? Self.notFound
    default: return Self.text("The inspector answers GET, and POST beneath /api.\n", .methodNotAllowed)
    }
  }

  private func read(_ path: [String], _ request: Request) -> Response {
    switch path {
    case ["exchanges"]: return answer("application/json") { [self] in list() }
    case ["links"]: return Self.json(linkList())
    case ["hindrances"]: return Self.json(HindranceText.list(actions))
    case ["events"]: return events(request)
    default: break
    }
    guard let sighting = exchange(path) else { return Self.notFound }
    switch path.dropFirst(2) {
    case []:
      return answer("application/json") { [view] in FeedAnswer.one(ByteBuffer(string: "\(view.detail(sighting))\n")) }
    case ["request-body"]: return download(.request, of: sighting)
    case ["response-body"]: return download(.response, of: sighting)
    default: return Self.notFound
    }
  }

  /// What may be long is made when it is read.
  private func answer(
    _ type: String, _ more: HTTPFields = [:], _ begin: @escaping @Sendable () -> FeedAnswer.Pieces
  ) -> Response {
    guard let seat = answerSeats.take() else { return Self.tooMany }
    return Self.answer(Body(FeedAnswer(seat, begin)), type, .ok, more)
  }

  private static let tooMany = text(
    "Others ask the inspector for much already, and have not read it: try again.\n", .serviceUnavailable,
    [.retryAfter: "1"])

  /// The one that a path names: `exchanges`, its id, and what of it.
  func exchange(_ path: [String]) -> Sighting? {
    guard path.count > 1, path[0] == "exchanges", let id = Int(path[1]) else { return nil }
    return inspector.read { $0[id] }
  }

  private func list() -> FeedAnswer.Pieces {
    let (news, limits) = inspector.read { ($0.news(after: 0, limit: .max), $0.limits) }
    let opening: JSON = [
      "schema": 1, "last": .string(eventID(news.version)), "now": .number(WallTime.now().milliseconds),
      "limits": [
        "exchanges": .number(limits.exchanges), "body": .number(limits.body), "bodies": .number(limits.bodies),
      ], "can": .array(actions.names.map { .string($0) }),
    ]
    return FeedAnswer.array("\(opening)".dropLast() + ",\"exchanges\":[", news.changed.sorted { $0.id < $1.id }, "]}\n")
    {
      [view] in "\(view.json($0))"
    }
  }

  private func linkList() -> JSON {
    let version = inspector.read { $0.version }
    return [
      "schema": 1, "last": .string(eventID(version)), "links": .array(links.withLock(\.entries).map { $0.json() }),
    ]
  }

  private func events(_ request: Request) -> Response {
    guard let seat = seats.take() else {
      return Self.text("Too many follow the inspector already.\n", .serviceUnavailable, [.retryAfter: "10"])
    }
    let last = HTTPField.Name("last-event-id").flatMap { request.head.headerFields[$0] } ?? Self.after(request)
    guard let version = last.map({ version(of: $0) }) ?? 0 else {
      return Self.events(Body("event: reset\ndata: {}\n\n"))
    }
    return Self.events(Body(FeedEvents(self, after: version, seat)))
  }

  private static func after(_ request: Request) -> String? {
    let query = (request.head.path ?? "").drop { $0 != "?" }.dropFirst()
    return query.split(separator: "&").first { $0.hasPrefix("after=") }.map { String($0.dropFirst("after=".count)) }
  }

  private func har() -> FeedAnswer.Pieces {
    let head: JSON = [
      "version": "1.2", "creator": ["name": "Byway", "version": .string(Release.version)], "pages": [],
    ]
    return FeedAnswer.array("{\"log\":" + "\(head)".dropLast() + ",\"entries\":[", inspector.read(\.all), "]}}\n") {
      [view] sighting in
      let entry = HAREntry(
        exchange: view.traced(sighting), httpVersion: "HTTP/\(sighting.record.version.rawValue)", isAnswered: true
      ).json
      guard case .object(let members) = entry else { return "{}" }
      return "\(JSON.object(members + [.init("_byway", view.json(sighting))]))"
    }
  }

  private func recording() -> Response {
    answer("application/octet-stream", [.contentDisposition: "attachment; filename=\"byway.recording\""]) { [self] in
      var rest = inspector.read(\.all)[...]
      return { [view] in
        while let sighting = rest.popFirst() {
          if let recording = KeptRecording.of(sighting, view) { return recording }
        }
        return nil
      }
    }
  }

  // MARK: Forms

  static let notFound = text("There is nothing here: docs/inspector.md lists what there is.\n", .notFound)

  static func json(_ value: JSON) -> Response { answer(Body("\(value)\n"), "application/json", .ok) }

  static func text(_ text: String, _ status: HTTPResponse.Status, _ fields: HTTPFields = [:]) -> Response {
    answer(Body(text), "text/plain; charset=utf-8", status, fields)
  }

  private static func events(_ body: Body) -> Response { answer(body, "text/event-stream", .ok) }

  /// Never shown as what it says to be: it is a device's.
  private func download(_ body: Sightings.Body, of sighting: Sighting) -> Response {
    answer("application/octet-stream", [.contentDisposition: "attachment"]) { [view] in
      FeedAnswer.one(view.bytes(of: body, sighting))
    }
  }

  private static func answer(
    _ body: Body, _ type: String, _ status: HTTPResponse.Status, _ more: HTTPFields = [:]
  ) -> Response {
    var fields = more
    fields[.contentType] = type
    fields[.cacheControl] = "no-store"
    fields[.contentSecurityPolicy] = "default-src 'none'; frame-ancestors 'none'"
    fields[.xContentTypeOptions] = "nosniff"
    return Response(status: status, fields: fields, body: body)
  }
}
