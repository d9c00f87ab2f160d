import Byway
import BywayHTTPWire
import BywayInterceptors
import BywayPrimitives
import HTTPTypes
import NIOCore

/// The presentation of exchanges for programs and pages: docs/inspector.md. Secrets are replaced, unless the user asked for them.
struct InspectedExchangeView: Sendable {
  private static let redactor = Redactor.defaults

  /// Whether secrets are shown. They are marked in any case.
  let showsSecrets: Bool

  // MARK: List

  func json(_ inspected: InspectedExchange) -> JSON { .object(members(of: inspected, isWhole: false)) }

  /// The maximum length of a text in the list, which may have 10,000 exchanges.
  private static let shortText = 1024

  private static func short(_ text: String) -> String {
    text.utf8.count <= shortText ? text : text.prefix(shortText) + "…"
  }

  private func path(_ path: String, isWhole: Bool) -> String {
    let shown = showsSecrets ? path : Self.redactor.redactedURL(path)
    return isWhole ? shown : Self.short(shown)
  }

  private func members(of inspected: InspectedExchange, isWhole: Bool) -> [JSON.Member] {
    let record = inspected.record
    let state = inspected.isRunning ? "running" : record.failure == nil ? "done" : "failed"
    let given = inspected.given
    let summary: JSON = [
      "id": .number(inspected.id), "state": .string(state), "listener": .string(record.listener),
      "version": .string(record.version.rawValue), "method": record.method.map { .string($0) },
      "scheme": record.scheme.map { .string($0) }, "authority": record.authority.map { .string(Self.short($0)) },
      "path": record.path.map { .string(path($0, isWhole: isWhole)) },
      "user": record.user.map { .string($0) }, "upstream": record.upstream.map { .string($0) },
      "trace": record.trace.map { .string("\($0)") },
      "status": record.status.map { .number($0) }, "type": Self.type(of: given), "length": Self.length(of: given),
      "requestType": Self.type(of: record.head), "requestLength": Self.length(of: record.head),
      "begun": .number(inspected.begun),
      "sent": record.after(record.sent), "requestEnded": record.after(record.requestEnded),
      "left": record.after(record.wire.left), "arrived": record.after(record.wire.arrived),
      "replied": record.after(record.wire.replied),
      "answered": record.after(record.answered), "ended": record.after(record.ended),
      "resends": inspected.resends.map { .number($0) },
      "behind": inspected.behind.isEmpty ? nil : .array(inspected.behind.map { .number($0.id) }),
      "meanwhile": inspected.meanwhile.isEmpty
        ? nil : .array(inspected.meanwhile.map { ["id": .number($0.id), "bytes": .number($0.bytes)] }),
      "carriedBytes": record.carriedBytes == inspected.responseBody.count ? nil : .number(record.carriedBytes),
      "attempts": record.attempts > 1 ? .number(record.attempts) : nil,
      "requestBytes": .number(inspected.requestBody.count), "responseBytes": .number(inspected.responseBody.count),
      "notes": Self.notes(record), "failure": inspected.failure.map(\.json), "cache": Self.cache(given),
      "from": Self.source(of: inspected),
      "paused": inspected.isRunning ? inspected.breakpoint.flatMap(\.json) : nil,
      "unpaused": inspected.breakpoint == .missed ? .bool(true) : nil,
      "held": inspected.holds.isEmpty
        ? nil
        : .array(
          inspected.holds.map { hold in
            [
              "by": .string(hold.reason.rawValue), "from": record.after(hold.from),
              "to": record.after(hold.until ?? record.ended),
            ]
          }),
    ]
    if case .object(let members) = summary { return members }
    return []
  }

  private static func type(of fields: FieldSection?) -> JSON? {
    fields?.value(of: .contentType).map { .string(short(MediaType.essence($0))) }
  }

  private static func length(of fields: FieldSection?) -> JSON? {
    (fields?.withValue(of: .contentLength, FieldGrammar.length) ?? nil).map { .number($0) }
  }

  /// The result of this hop's cache, from `Cache-Status` (RFC 9211).
  private static func cache(_ fields: FieldSection?) -> JSON? {
    guard let line = fields?.lines.last(where: { fields?.name(of: $0) == "cache-status" }),
      let text = fields?.value(of: line)
    else { return nil }
    if text.contains("fwd=stale") { return "revalidated" }
    if text.contains("hit") { return text.contains("stale") ? "stale" : "hit" }
    return "miss"
  }

  /// The component that has answered, if it was not the far end.
  private static func source(of inspected: InspectedExchange) -> JSON? {
    guard inspected.given != nil, inspected.answered == nil else { return nil }
    if inspected.failure != nil { return "proxy" }
    return cache(inspected.given) == "hit" ? "cache" : inspected.record.sent == nil ? "proxy" : nil
  }

  // MARK: Waiting messages

  /// Returns a request's head without its secrets, unless they are shown.
  func shown(_ head: HTTPRequest) -> HTTPRequest {
    var exchange = TracedExchange(request: head, started: .zero)
    if !showsSecrets { Self.redactor.redact(&exchange) }
    return exchange.request
  }

  /// Returns the text of a waiting message without its secrets, unless they are shown.
  func shownText(of message: PausedMessage) -> PausedMessage.Text {
    guard case .text(let text) = message.text, !showsSecrets else { return message.text }
    var exchange = TracedExchange(request: message.request.head, started: .zero)
    exchange.response = message.response?.head
    var content = TracedExchange.Content()
    content.kept = ByteBuffer(string: text)
    if message.response == nil { exchange.requestBody = content } else { exchange.responseBody = content }
    Self.redactor.redact(&exchange)
    let shown = message.response == nil ? exchange.requestBody.kept : exchange.responseBody.kept
    if shown.readableBytes == 0, !text.isEmpty { return .fixed("It has secrets that cannot be told apart.") }
    return .text(String(buffer: shown))
  }

  // MARK: Details

  func detail(_ inspected: InspectedExchange) -> JSON {
    let asked = inspected.asked
    let request = FieldComparison(from: asked, to: inspected.sent ?? asked)
    let shown = traced(inspected)
    let response = inspected.given.map { FieldComparison(from: inspected.answered, to: $0) }
    let more: JSON = [
      "requestFields": fields(request), "responseFields": response.map(fields),
      "trailers": inspected.trailers.map { fields(FieldComparison(from: nil, to: $0)) },
      "messages": messages(of: inspected),
      "requestBody": body(inspected.requestBody, inspected.record.head, isRestored: shown.requestBody.isRestored),
      "responseBody": inspected.given.flatMap {
        body(inspected.responseBody, $0, isRestored: shown.responseBody.isRestored)
      },
    ]
    guard case .object(let members) = more else { return json(inspected) }
    return .object(self.members(of: inspected, isWhole: true) + members)
  }

  private static func notes(_ record: ExchangeRecord) -> JSON? {
    record.notes.isEmpty
      ? nil : .array(record.notes.map { ["plugin": .string($0.plugin), "text": .string($0.text)] })
  }

  private func messages(of inspected: InspectedExchange) -> JSON? {
    let found = Conversation.messages(of: inspected)
    return found.isEmpty ? nil : .array(found.map { $0.json(showsSecrets ? nil : Self.redactor) })
  }

  private func fields(_ comparison: FieldComparison) -> JSON {
    .array(
      comparison.lines.map { line in
        var mark: String?
        var before: String?
        switch line.mark {
        case .same: break
        case .added: mark = "added"
        case .removed: mark = "removed"
        case .changed(let value): (mark, before) = ("changed", value)
        }
        let isSecret = isSecret(line.value, of: line.name) || before.map { self.isSecret($0, of: line.name) } ?? false
        let isShown = !isSecret || showsSecrets
        return [
          "name": .string(line.name), "value": isShown ? .string(line.value) : nil, "mark": mark.map { .string($0) },
          "was": isShown ? before.map { .string($0) } : nil, "secret": isSecret ? .bool(true) : nil,
        ]
      })
  }

  func isSecret(_ value: String, of name: String) -> Bool {
    guard let name = HTTPField.Name(name) else { return false }
    return Self.redactor.redacted([name: value])[name] != value
  }

  private func body(_ body: InspectedExchange.KeptBody, _ fields: FieldSection, isRestored: Bool) -> JSON? {
    guard body.kept.readableBytes > 0 else { return nil }
    return [
      "kept": .number(body.kept.readableBytes), "dropped": body.dropped > 0 ? .number(body.dropped) : nil,
      "whole": .bool(body.kept.readableBytes == body.count),
      "coding": isRestored
        ? nil : fields.lines.last { fields.name(of: $0) == "content-encoding" }.map { .string(fields.value(of: $0)) },
    ]
  }

  /// Returns the kept part of a body.
  func bytes(of body: InspectedExchanges.Body, _ inspected: InspectedExchange) -> ByteBuffer {
    let traced = traced(inspected)
    return body == .request ? traced.requestBody.kept : traced.responseBody.kept
  }

  func trailers(of inspected: InspectedExchange) -> HTTPFields? {
    inspected.trailers.flatMap { HTTPFields($0) }.map { showsSecrets ? $0 : Self.redactor.redacted($0) }
  }

  /// Returns an exchange in the form of a trace.
  func traced(_ inspected: InspectedExchange) -> TracedExchange {
    let record = inspected.record
    var exchange = TracedExchange(
      request: HTTPRequest(inspected.asked) ?? HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil),
      started: .milliseconds(inspected.begun))
    exchange.response = inspected.given.flatMap { HTTPResponse($0) }
    exchange.requestBody = inspected.requestBody.content
    exchange.responseBody = inspected.responseBody.content
    exchange.failure = inspected.failure?.message
    exchange.notes = record.notes
    let end = record.ended ?? .now()
    let answered = record.answered ?? end
    let sent = min(record.requestEnded ?? answered, answered)
    // HAR has a phase for what delays a request, and none for what delays a response.
    let heldBefore = inspected.held(from: record.begun, to: sent)
    let heldAfter = inspected.held(from: sent, to: answered)
    exchange.held = .nanoseconds((heldBefore + heldAfter).nanoseconds)
    exchange.sending = .nanoseconds((sent - record.begun - heldBefore).nanoseconds)
    exchange.waiting = .nanoseconds((answered - sent - heldAfter).nanoseconds)
    exchange.receiving = .nanoseconds((end - answered).nanoseconds)
    if !showsSecrets { Self.redactor.redact(&exchange) }
    return exchange
  }
}

extension InspectedExchange.KeptBody {
  fileprivate var content: TracedExchange.Content {
    var content = TracedExchange.Content()
    content.length = count
    content.keptLength = kept.readableBytes
    content.kept = kept
    return content
  }
}

extension InspectedExchange {
  /// Returns how long rules kept it waiting in a time.
  fileprivate func held(from begin: NIODeadline, to end: NIODeadline) -> TimeAmount {
    holds.reduce(.zero) { sum, hold in
      sum + max(.zero, min(hold.until ?? end, end) - max(hold.from, begin))
    }
  }
}

extension InspectedExchange.Break {
  /// `nil` if it does not wait.
  fileprivate var json: JSON? {
    guard case .paused(let id, let point, let until) = self else { return nil }
    return ["id": .number(id), "at": .string(point.rawValue), "until": .number(until)]
  }
}

extension InspectedExchange.Failure {
  fileprivate var json: JSON {
    [
      "code": .string("\(code)"), "party": .string(party.rawValue), "message": .string(message),
      "advice": FailureAdvice.text(for: code).map { .string($0) },
    ]
  }
}

extension ExchangeRecord {
  /// Returns the milliseconds since the request's head was received.
  fileprivate func after(_ moment: NIODeadline?) -> JSON? {
    moment.map { .number(Double(($0 - begun).nanoseconds) / 1_000_000) }
  }
}

extension WallTime {
  /// Milliseconds since 1970, to the microsecond.
  var milliseconds: Double { Double(nanosecondsSinceEpoch / 1_000) / 1_000 }
}
