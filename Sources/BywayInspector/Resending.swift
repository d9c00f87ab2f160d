package import Byway
import HTTPTypes
import HTTPWire
import NIOCore
import Primitives

/// Sends requests that somebody wants once more, and reads their answers, which nobody waits for. Safe on any thread.
package final class Resending: Sendable {
  /// A request, and the address at which the one came in that it repeats.
  package typealias Send = @Sendable (Request, String) async throws -> Response

  /// Stands in the place of the address at which a client comes in.
  package static let listener = "inspector"
  /// At once.
  private static let limit = 8
  private static let patience = Duration.seconds(300)

  private let seats = Seats(Resending.limit)

  /// - Throws: `BywayError` with code `refused` where too many run.
  func begin(_ request: Request, at listener: String, _ send: @escaping Send) throws {
    guard let seat = seats.take() else {
      throw BywayError(.refused, "\(Self.limit) requests that were sent again still run: wait for one of them.")
    }
    Task {
      // What becomes of it the exchange itself shows.
      try? await withTimeLimit(Self.patience, throwing: CancellationError(), waits: true) {
        let response = try await send(request, listener)
        for try await _ in response.body {}
      }
      withExtendedLifetime(seat) {}
    }
  }
}

/// What is to be another than it was.
struct ResendChanges {
  private let method: String?
  private let path: String?
  /// Without a value: those that it had.
  private let fields: [(name: String, value: String?)]?
  private let body: [UInt8]?

  /// - Parameter text: `{"method", "path", "fields": [["name", "value"]], "body": "base64"}`, each of which may be missing.
  /// - Throws: `BywayError` where it is something else.
  init(_ text: String) throws {
    guard let json = text.isEmpty ? JSON.object([]) : JSON(parsing: text), case .object = json else {
      throw Self.wrong("it is not an object of JSON")
    }
    method = json["method"]?.text
    path = json["path"]?.text
    fields = try json["fields"].map { fields in
      guard case .array(let pairs) = fields else { throw Self.wrong("fields are a list of pairs") }
      return try pairs.map { pair in
        let texts = pair.elements.compactMap(\.text)
        guard (1...2).contains(texts.count), texts.count == pair.elements.count else {
          throw Self.wrong("a field is [\"name\", \"value\"], or [\"name\"] where it stays as it was")
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

  /// - Throws: `BywayError` where it cannot be a request, or nothing is left of its body.
  func request(from sighting: Sighting) throws -> Request {
    guard var head = HTTPRequest(sighting.record.head) else { throw Self.wrong("what came was not a request") }
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
          throw Self.wrong("it goes where it went before: leave host out")
        }
        for value in value.map({ [$0] }) ?? before[values: name] {
          head.headerFields.append(HTTPField(name: name, value: value))
        }
      }
    }
    // Of the connection that it came by, and of the exchange that it was.
    let left = [
      "via", "traceparent", "tracestate", "content-length", "transfer-encoding", "connection", "te", "host",
      "keep-alive", "proxy-connection", "upgrade",
    ]
    for name in left {
      if let name = HTTPField.Name(name) { head.headerFields[name] = nil }
    }
    return Request(head, body: try body(of: sighting))
  }

  private func body(of sighting: Sighting) throws -> Body {
    if let body { return Body(ByteBuffer(bytes: body)) }
    let kept = sighting.requestBody
    guard kept.kept.readableBytes == kept.count else {
      let reason =
        kept.kept.readableBytes == 0
        ? "its body of \(kept.count) bytes is not kept any more"
        : "only \(kept.kept.readableBytes) of \(kept.count) bytes of its body were kept: --inspect-bodies SIZE keeps more"
      throw BywayError(.unsupported, "It cannot be sent again: \(reason).", processing: .none)
    }
    return Body(kept.kept)
  }

  private static func wrong(_ reason: String) -> BywayError {
    BywayError(.invalidRequest, "It cannot be sent again: \(reason).", processing: .none)
  }
}
