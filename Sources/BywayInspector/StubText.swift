import Byway
import BywayInterceptors
import HTTPTypes
import NIOCore

/// An exchange as a rule of a `StubFile` that gives the same answer.
enum StubText {
  /// - Throws: `BywayError` if such a file cannot express the answer.
  static func of(_ exchange: TracedExchange) throws -> String {
    guard let response = exchange.response, response.status.code >= 200 else {
      throw wrong("it has no answer")
    }
    let body = exchange.responseBody
    guard body.keptLength == body.length else {
      throw wrong(
        body.keptLength == 0
          ? "its answer of \(body.length) bytes is no longer kept"
          : "only \(body.keptLength) of \(body.length) bytes of the answer were kept: \(Advice.raise(.keptBodies)) keeps more"
      )
    }
    guard let text = String(validating: body.kept.readableBytesView, as: UTF8.self),
      !text.utf8.split(separator: UInt8(ascii: "\n")).contains(where: { $0.starts(with: "###".utf8) })
    else { throw wrong("the answer is not text: save it, and name the file in a rule with \"< NAME\"") }
    var lines = ["### \(exchange.request.method.rawValue) \(pattern(of: exchange.request.path ?? "/"))"]
    lines.append("HTTP/1.1 \(response.status.code)")
    for field in response.headerFields where !left.contains(field.name.canonicalName) {
      lines.append("\(field.name.canonicalName): \(field.value)")
    }
    // The length tells whether the last line break is part of the body.
    if !text.isEmpty { lines.append("content-length: \(text.utf8.count)") }
    return lines.joined(separator: "\n") + "\n\n" + text + (text.hasSuffix("\n") || text.isEmpty ? "" : "\n")
  }

  /// Returns the path of a rule. No request has the mark of a redacted secret, so the rule is for all paths with the same beginning.
  private static func pattern(of path: String) -> String {
    if let secret = path.firstRange(of: Trace.Redaction.mark) { return "\(path[..<secret.lowerBound])*" }
    return path.hasSuffix("*") ? String(path.dropLast()) + "%2A" : path
  }

  /// Fields of the transmission and its time, which are not part of the answer.
  private static let left: Set<String> = [
    "via", "date", "age", "connection", "transfer-encoding", "content-length", "proxy-status", "server-timing",
    "cache-status",
  ]

  private static func wrong(_ reason: String) -> BywayError {
    BywayError(.unsupported, "It cannot be a stub: \(reason).", processing: .none)
  }
}
