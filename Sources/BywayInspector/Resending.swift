package import Byway
import BywayHTTPWire
import BywayPrimitives
import HTTPTypes
import NIOCore

/// Sends requests again for a user, and discards their answers, which the inspector records. Safe on any thread.
package final class Resending: Sendable {
  /// Sends a request. The text is the listener's address of the original request.
  package typealias Send = @Sendable (Request, String) async throws -> Response

  /// The name of the inspector in place of a listener's address.
  package static let listener = "inspector"
  /// The maximum number of such requests at once.
  private static let limit = 8
  private static let patience = Duration.seconds(300)

  private let slots = Slots<ObjectIdentifier>(Resending.limit)

  /// - Throws: `BywayError` with code `refused` if too many run.
  func begin(_ request: Request, at listener: String, _ send: @escaping Send) throws {
    guard let slot = slots.take() else {
      throw BywayError(.refused, "\(Self.limit) requests sent again are still running: wait for one of them.")
    }
    Task {
      // The inspector shows the result of the exchange.
      try? await withTimeLimit(Self.patience, throwing: CancellationError(), waits: true) {
        let response = try await send(request, listener)
        for try await _ in response.body {}
      }
      withExtendedLifetime(slot) {}
    }
  }
}

/// The changes to a request that is sent again.
struct ResendChanges {
  private let method: String?
  private let path: String?
  /// The new fields. A field without a value keeps its previous values.
  private let fields: [(name: String, value: String?)]?
  private let body: [UInt8]?

  /// - Parameter text: `{"method", "path", "fields": [["name", "value"]], "body": "base64"}`, each of which may be missing.
  /// - Throws: `BywayError` if the text is invalid.
  init(_ text: String) throws {
    guard let json = text.isEmpty ? JSON.object([]) : JSON(parsing: text), case .object = json else {
      throw Self.wrong("it is not a JSON object")
    }
    method = json["method"]?.text
    path = json["path"]?.text
    fields = try json["fields"].map { fields in
      guard case .array(let pairs) = fields else { throw Self.wrong("fields are a list of pairs") }
      return try pairs.map { pair in
        let texts = pair.elements.compactMap(\.text)
        guard (1...2).contains(texts.count), texts.count == pair.elements.count else {
          throw Self.wrong("a field is [\"name\", \"value\"], or [\"name\"] if it does not change")
        }
        return (texts[0], texts.count > 1 ? texts[1] : nil)
      }
    }
    body = try json["body"].map { body in
      guard let bytes = body.text.flatMap({ Base64.decode($0.utf8) }) else {
        throw Self.wrong("the body is not base64")
      }
      return bytes
    }
  }

  /// Makes the request.
  /// - Throws: `BywayError` if the changes give no valid request, or the body was not kept.
  func request(from inspected: InspectedExchange) throws -> Request {
    guard var head = HTTPRequest(inspected.record.head) else { throw Self.wrong("its head is not a valid request") }
    guard head.method != .connect else { throw Self.wrong("a tunnel cannot be sent again") }
    if let method {
      guard let method = HTTPRequest.Method(method), method.rawValue.uppercased() != "CONNECT" else {
        throw Self.wrong("\"\(method)\" is not a method")
      }
      head.method = method
    }
    if let path {
      guard path.hasPrefix("/"), path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
        throw Self.wrong("a path begins with / and has neither spaces nor letters beyond ASCII: escape them")
      }
      head.path = path
    }
    if let fields {
      let before = head.headerFields
      head.headerFields = HTTPFields()
      for (text, value) in fields {
        guard let name = HTTPField.Name(text) else {
          throw Self.wrong("\"\(text.visible)\" is not the name of a field")
        }
        guard HTTPField.isValidValue(value ?? "") else {
          throw Self.wrong("the value of \(text) has a line break or another control character")
        }
        guard value == nil || text.lowercased() != "host" else {
          throw Self.wrong("its host cannot change: leave host out")
        }
        for value in value.map({ [$0] }) ?? before[values: name] {
          head.headerFields.append(HTTPField(name: name, value: value))
        }
      }
    }
    // Fields of the original connection and exchange.
    let left = [
      "via", "traceparent", "tracestate", "content-length", "transfer-encoding", "connection", "te", "host",
      "keep-alive", "proxy-connection", "upgrade",
    ]
    for name in left {
      if let name = HTTPField.Name(name) { head.headerFields[name] = nil }
    }
    return Request(head, body: try body(of: inspected))
  }

  private func body(of inspected: InspectedExchange) throws -> Body {
    if let body { return Body(ByteBuffer(bytes: body)) }
    let kept = inspected.requestBody
    guard kept.kept.readableBytes == kept.count else {
      let reason =
        kept.kept.readableBytes == 0
        ? "its body of \(kept.count) bytes is no longer kept"
        : "only \(kept.kept.readableBytes) of \(kept.count) bytes of its body were kept: "
          + "\(Advice.raise(.keptBodies)) keeps more"
      throw BywayError(.unsupported, "It cannot be sent again: \(reason).", processing: .none)
    }
    return Body(kept.kept)
  }

  private static func wrong(_ reason: String) -> BywayError {
    BywayError(.invalidRequest, "It cannot be sent again: \(reason).", processing: .none)
  }
}
