package import Byway
import BywayHTTPWire
import BywayInterceptors
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
  private let head: EditedHead
  private let body: [UInt8]?

  /// - Parameter text: `{"method", "path", "fields": [["name", "value"]], "body": "base64"}`, each of which may be missing.
  /// - Throws: `BywayError` if the text is invalid.
  init(_ text: String) throws {
    guard let json = text.isEmpty ? JSON.object([]) : JSON(parsing: text), case .object = json else {
      throw Self.wrong("it is not a JSON object")
    }
    if let reason = json.unknownMember(besides: EditedHead.members) { throw Self.wrong(reason) }
    head = try Self.explained { try EditedHead(json) }
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
    guard !head.kind.asksForTunnel else { throw Self.wrong("a tunnel cannot be sent again") }
    try Self.explained { try self.head.apply(to: &head, isFixed: { _ in false }) }
    // Fields of the original connection and exchange.
    for name in ConnectionFields.names.union(["via", "traceparent", "tracestate", "host"]) {
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

  private static func explained<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let flaw as EditFlaw {
      throw wrong(flaw.reason)
    }
  }

  private static func wrong(_ reason: String) -> BywayError {
    BywayError(.invalidRequest, "It cannot be sent again: \(reason).", processing: .none)
  }
}
