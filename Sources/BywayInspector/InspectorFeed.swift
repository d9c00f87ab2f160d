package import Byway
import BywayInterceptors
import BywayPrimitives
import HTTPTypes
import NIOCore
import Synchronization

/// The HTTP interface of an inspector: docs/inspector.md. Safe on any thread.
package final class InspectorFeed: Sendable {
  /// The maximum number of readers of events, and of those on one connection. Each gets every change.
  private static let readers = (all: 8, ofOne: 2)
  /// The maximum number of other unread answers, of any size.
  private static let answers = (all: 8, ofOne: 4)
  /// The number of further slots of each kind, for requests with the token.
  private static let reserved = 4

  let inspector: Inspector
  let view: InspectedExchangeView
  let links = Mutex(LinkHistory())
  private let readerSlots = InspectorFeed.slots(readers)
  private let answerSlots = InspectorFeed.slots(answers)
  let resending = Resending()
  let actions: InspectorActions
  /// The part of event ids that identifies this process.
  private let run = String(UInt32.random(in: .min ... .max), radix: 16)
  /// The token for actions.
  package let token: String

  /// - Parameters:
  ///   - showsSecrets: whether all clients get secrets.
  ///   - actions: the available actions.
  package init(_ inspector: Inspector, showsSecrets: Bool = false, _ actions: InspectorActions = InspectorActions()) {
    self.inspector = inspector
    self.actions = actions
    view = InspectedExchangeView(showsSecrets: showsSecrets)
    var generator = SystemRandomNumberGenerator()
    token = (0..<2).map { _ in String(generator.next(), radix: 36) }.joined()
  }

  /// Records the state of the links. Called once a second.
  package func look(_ snapshots: [LinkSnapshot]) {
    let time = WallTime.now().milliseconds
    let counted = inspector.read { exchanges in
      snapshots.map { snapshot in
        var snapshot = snapshot
        snapshot.running =
          snapshot.upstream.map { exchanges.running(on: $0) } ?? exchanges.running(at: snapshot.address)
        return snapshot
      }
    }
    links.withLock { $0.look(counted, at: time) }
  }

  func eventID(_ version: UInt64) -> String { "\(run)-\(version)" }

  /// Returns the version in an event id; `nil` if the id comes from another process, or is invalid.
  private func version(of eventID: String) -> UInt64? {
    let parts = eventID.split(separator: "-", maxSplits: 1)
    return parts.count == 2 && parts[0] == run ? UInt64(parts[1]) : nil
  }

  // MARK: Answers

  package func respond(to request: Request) async throws -> Response {
    var response = try await answer(to: request)
    InspectorPage.secure(&response.head.headerFields)
    return response
  }

  private func answer(to request: Request) async throws -> Response {
    let path = request.head.path ?? "/"
    let place = path.prefix { $0 != "?" }
    let segments = place.split(separator: "/")
    switch (request.head.method, segments.first) {
    case (.get, "api") where segments == ["api", "har"]:
      return allowed(request) ? answer(request, "application/json") { [self] in har() } : Self.forbidden
    case (.get, "api") where segments == ["api", "recording"]:
      return allowed(request) ? recording(request) : Self.forbidden
    case (.get, "api") where segments.count == 3 && segments[1] == "paused":
      return allowed(request) ? pausedMessage(segments[2], request) : Self.forbidden
    case (.get, "api"), (.head, "api"): return read(segments.dropFirst().map(String.init), request)
    case (.post, "api"):
      guard allowed(request) else { return Self.forbidden }
      do {
        return try await act(segments.dropFirst().map(String.init), request)
      } catch let error as BywayError {
        return Self.refusal(error)
      } catch let flaw as EditFlaw {
        return Self.refusal(flaw)
      } catch let refusal as Breakpoints.Pauses.Refusal {
        return Self.refusal(refusal)
      }
    case (.get, _), (.head, _): return InspectorPage.file(at: place) ?? Self.notFound
    default: return Self.text("The inspector answers GET, and POST beneath /api.\n", .methodNotAllowed)
    }
  }

  private func read(_ path: [String], _ request: Request) -> Response {
    switch path {
    case ["exchanges"]: return answer(request, "application/json") { [self] in list() }
    case ["links"]: return json(request) { [self] in linkList() }
    case ["faults"], ["breakpoints"], ["stubs"]: return ruleList(request)
    case ["events"]: return events(request)
    default: break
    }
    guard let inspected = exchange(path) else { return Self.notFound }
    switch path.dropFirst(2) {
    case []:
      return json(request) { [view] in view.detail(inspected) }
    case ["request-body"]: return download(request, .request, of: inspected)
    case ["response-body"]: return download(request, .response, of: inspected)
    default: return Self.notFound
    }
  }

  /// Makes an answer that is produced as it is read.
  func answer(
    _ request: Request, _ type: String, _ more: HTTPFields = [:], _ begin: @escaping @Sendable () -> FeedAnswer.Pieces
  ) -> Response {
    guard let slot = take(answerSlots, request) else { return Self.tooMany }
    return Self.answer(Body(FeedAnswer(slot, begin)), type, .ok, more)
  }

  func json(_ request: Request, _ value: @escaping @Sendable () -> JSON) -> Response {
    answer(request, "application/json") { FeedAnswer.one(ByteBuffer(string: "\(value())\n")) }
  }

  /// Slots for the clients' connections, and those for requests with the token.
  typealias ClientSlots = (all: Slots<ObjectIdentifier>, own: Slots<ObjectIdentifier>)

  private static func slots(_ limit: (all: Int, ofOne: Int)) -> ClientSlots {
    (Slots(limit.all, ofOne: limit.ofOne), Slots(reserved))
  }

  /// Takes a slot. A request with the token gets one even if other requests have taken all of theirs.
  private func take(_ slots: ClientSlots, _ request: Request) -> Slots<ObjectIdentifier>.Slot? {
    (allowed(request) ? slots.own.take() : nil) ?? slots.all.take(for: request.client)
  }

  private static let tooMany = text(
    "Too many answers of the inspector are unread: try again.\n", .serviceUnavailable,
    [.retryAfter: "1"])

  /// Returns the exchange that a path names: `exchanges`, its id, and a part of it.
  func exchange(_ path: [String]) -> InspectedExchange? {
    guard path.count > 1, path[0] == "exchanges", let id = Int(path[1]) else { return nil }
    return inspector.read { $0[id] }
  }

  private func list() -> FeedAnswer.Pieces {
    let (ids, version, limits) = inspector.read { ($0.ids, $0.version, $0.limits) }
    let opening: JSON = [
      "schema": 1, "last": .string(eventID(version)), "now": .number(WallTime.now().milliseconds),
      "limits": [
        "exchanges": .number(limits.exchanges), "body": .number(limits.body), "bodies": .number(limits.bodies),
      ], "can": .array(actions.names.map { .string($0) }),
    ]
    return FeedAnswer.array("\(opening)".dropLast() + ",\"exchanges\":[", ids, "]}\n") { [self] id in
      inspector.read { $0[id] }.map { "\(view.json($0))" }
    }
  }

  private func linkList() -> JSON {
    let version = inspector.read { $0.version }
    return [
      "schema": 1, "last": .string(eventID(version)), "links": .array(links.withLock(\.entries).map { $0.json() }),
    ]
  }

  private func events(_ request: Request) -> Response {
    guard let slot = take(readerSlots, request) else {
      return Self.text("Too many clients follow the inspector.\n", .serviceUnavailable, [.retryAfter: "10"])
    }
    let last =
      HTTPField.Name("last-event-id").flatMap { request.head.headerFields[$0] } ?? Self.parameter("after", of: request)
    guard let version = last.map({ version(of: $0) }) ?? 0 else {
      return Self.events(Body("event: reset\ndata: {}\n\n"))
    }
    let watcher = allowed(request) ? actions.rules?.breakpoints.watch() : nil
    return Self.events(Body(FeedEvents(self, after: version, slot, watcher)))
  }

  static func parameter(_ name: String, of request: Request) -> String? {
    let query = (request.head.path ?? "").drop { $0 != "?" }.dropFirst()
    return query.split(separator: "&").first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
  }

  private func har() -> FeedAnswer.Pieces {
    let head: JSON = [
      "version": "1.2", "creator": ["name": "Byway", "version": .string(Release.version)], "pages": [],
    ]
    return FeedAnswer.array("{\"log\":" + "\(head)".dropLast() + ",\"entries\":[", inspector.read(\.ids), "]}}\n") {
      [self] id in
      guard let inspected = inspector.read({ $0[id] }) else { return nil }
      let entry = HAREntry(
        exchange: view.traced(inspected), httpVersion: "HTTP/\(inspected.record.version.rawValue)", isAnswered: true
      ).json
      guard case .object(let members) = entry else { return "{}" }
      return "\(JSON.object(members + [.init("_byway", view.json(inspected))]))"
    }
  }

  private func recording(_ request: Request) -> Response {
    answer(request, "application/octet-stream", [.contentDisposition: "attachment; filename=\"byway.recording\""]) {
      [self] in
      var rest = inspector.read(\.ids)[...]
      return { [self] in
        while let id = rest.popFirst() {
          if let inspected = inspector.read({ $0[id] }), let recording = KeptRecording.of(inspected, view) {
            return recording
          }
        }
        return nil
      }
    }
  }

  // MARK: Forms

  static let notFound = text("There is nothing here: docs/inspector.md lists the paths.\n", .notFound)

  static func text(_ text: String, _ status: HTTPResponse.Status, _ fields: HTTPFields = [:]) -> Response {
    answer(Body(text), "text/plain; charset=utf-8", status, fields)
  }

  private static func events(_ body: Body) -> Response { answer(body, "text/event-stream", .ok) }

  /// Answers with a body of an exchange. Its media type is not used, because a device has chosen it.
  private func download(_ request: Request, _ body: InspectedExchanges.Body, of inspected: InspectedExchange)
    -> Response
  {
    answer(request, "application/octet-stream", [.contentDisposition: "attachment"]) { [view] in
      FeedAnswer.one(view.bytes(of: body, inspected))
    }
  }

  private static func answer(
    _ body: Body, _ type: String, _ status: HTTPResponse.Status, _ more: HTTPFields = [:]
  ) -> Response {
    var fields = more
    fields[.contentType] = type
    fields[.cacheControl] = "no-store"
    fields[.contentSecurityPolicy] = "default-src 'none'; frame-ancestors 'none'"
    return Response(status: status, fields: fields, body: body)
  }
}
