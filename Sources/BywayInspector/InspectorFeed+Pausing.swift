import Byway
import BywayInterceptors
import BywayPrimitives
import HTTPTypes
import NIOCore

/// Exchanges that wait at breakpoints: docs/inspector.md.
extension InspectorFeed {
  /// The maximum number of bytes of the JSON of an edit: most characters of a body take one byte, line breaks and quotes two.
  private static let mostEdited = 2 * ReadBody.limit + (256 << 10)

  /// Answers with a waiting message.
  func pausedMessage(_ id: Substring, _ request: Request) -> Response {
    guard let breakpoints = actions.rules?.breakpoints, let id = Int(id) else { return Self.notFound }
    breakpoints.acted()
    do {
      let message = try breakpoints.message(id)
      return json(request) { [view] in view.paused(message, id: id) }
    } catch {
      return Self.refusal(error as? Breakpoints.Pauses.Refusal ?? .unknown)
    }
  }

  /// Carries out a decision on a waiting message: `continue`, `answer` or `drop`.
  func decide(_ id: String, _ act: String, _ request: Request) async throws -> Response {
    guard let breakpoints = actions.rules?.breakpoints, let id = Int(id) else { return Self.notFound }
    breakpoints.acted()
    let text = String(buffer: try await Self.body(of: request, upTo: Self.mostEdited))
    let message = try breakpoints.message(id)
    guard let json = text.isEmpty ? .object([]) : JSON(parsing: text), case .object = json else {
      throw BywayError(.invalidRequest, "The edit is not a JSON object.", processing: .none)
    }
    if let reason = json.unknownMember(besides: EditedHead.members) {
      throw BywayError(.invalidRequest, "The edit is invalid: \(reason).", processing: .none)
    }
    switch act {
    case "continue": try breakpoints.decide(id, as: message.edited(json, breakpoints.memory))
    case "answer": try breakpoints.decide(id, as: message.answer(json, breakpoints.memory))
    case "drop": try breakpoints.decide(id, as: .drop)
    default: return Self.notFound
    }
    return Response(status: .noContent)
  }

  static func refusal(_ refusal: Breakpoints.Pauses.Refusal) -> Response {
    switch refusal {
    case .unknown: text("No such exchange is paused.\n", .notFound)
    case .ended: text("It is no longer paused: it has continued, or its client has left.\n", .conflict)
    }
  }

  /// Answers with the part of the form that is wrong.
  static func refusal(_ flaw: EditFlaw) -> Response {
    let json: JSON = ["part": .string(flaw.part.rawValue), "reason": .string(flaw.reason)]
    return Response(
      status: .badRequest, fields: [.contentType: "application/json", .cacheControl: "no-store"],
      body: Body("\(json)\n"))
  }
}

extension InspectedExchangeView {
  /// The part of a waiting message that users may edit.
  func paused(_ message: PausedMessage, id: Int) -> JSON {
    let head = shown(message.request.head)
    let response = message.response?.head
    let body: JSON =
      switch shownText(of: message) {
      case .text(let text): ["bytes": .number(message.body.count), "text": .string(text)]
      case .fixed(let reason): ["bytes": .number(message.body.count), "fixed": .string(reason)]
      case .arriving: ["bytes": .number(message.body.count), "arriving": .bool(true)]
      }
    return [
      "schema": 1, "id": .number(id), "exchange": .number(message.exchange), "at": .string(message.point.rawValue),
      "method": .string(head.method.rawValue), "path": .string(head.path ?? ""),
      "status": response.map { .number($0.status.code) }, "tunnel": message.isTunnel ? .bool(true) : nil,
      "fields": .array(
        message.fields.filter { !PausedMessage.isFixed($0.name.canonicalName) }.map { field in
          let isSecret = isSecret(field.value, of: field.name.canonicalName)
          return [
            "name": .string(field.name.canonicalName),
            "value": isSecret && !showsSecrets ? nil : .string(field.value), "secret": isSecret ? .bool(true) : nil,
          ]
        }),
      "body": body,
    ]
  }
}
