import BywayHTTPWire
import BywayPrimitives
package import HTTPTypes
import NIOCore

/// A redactor, which replaces secrets by ``Trace/Redaction/mark``. It is created once, as every field of every exchange passes
/// through it.
package final class Redactor: Sendable {
  package static let defaults = Redactor(.defaults)

  /// This field is not indexed because its value never recurs, not because it is secret.
  private static let traceparent = HTTPField.Name("traceparent")

  private let words: WordFinder
  private let parts: Set<String>
  private let parameters: Set<String>
  let segments: SegmentFinder
  let isIdle: Bool

  init(_ redaction: Trace.Redaction) {
    words = WordFinder(redaction.words)
    parts = redaction.parts
    parameters = redaction.parameters
    segments = SegmentFinder(redaction.segments)
    isIdle = redaction == .none
  }

  /// Replaces the secrets of an exchange. Everything else is neither changed nor copied.
  package func redact(_ exchange: inout TracedExchange) {
    if isIdle { return }
    if let path = exchange.request.path, let redacted = changedURL(path) { exchange.request.path = redacted }
    if let authority = exchange.request.authority {
      let (user, rest) = Authority.splitUser(authority[...])
      if user != nil { exchange.request.authority = String(rest) }
    }
    redact(&exchange.requestBody, fields: exchange.request.headerFields)
    redact(&exchange.request.headerFields)
    if let fields = exchange.response?.headerFields {
      redact(&exchange.responseBody, fields: fields)
      if fields.contains(where: { changed($0) != nil }) { exchange.response?.headerFields = redacted(fields) }
    }
  }

  package func redacted(_ fields: HTTPFields) -> HTTPFields {
    HTTPFields(fields.map { changed($0) ?? $0 })
  }

  private func redact(_ fields: inout HTTPFields) {
    if fields.contains(where: { changed($0) != nil }) { fields = redacted(fields) }
  }

  // MARK: Each function returns `nil` if there is no secret.

  private func changed(_ field: HTTPField) -> HTTPField? {
    let name = field.name
    let isLogin = name == .authorization || name == .proxyAuthorization
    var field = field
    if isLogin || field.indexingStrategy == .disallow && name != Self.traceparent || namesSecret(name.canonicalName) {
      // The scheme helps in diagnosis; a lone word may be the secret itself.
      let scheme = isLogin ? field.value.utf8.firstIndex(of: UInt8(ascii: " ")).map { field.value[...$0] } : nil
      field.value = (scheme ?? "") + Trace.Redaction.mark
      return field
    }
    let changed: String?
    switch name {
    case .location, .contentLocation, .referer, .origin: changed = changedURL(field.value)
    case .userAgent: changed = changedText(field.value)
    case .wwwAuthenticate, .proxyAuthenticate: changed = Self.changedChallenge(field.value)
    case .secWebSocketProtocol: changed = field.value.lowercased().contains("bearer") ? Trace.Redaction.mark : nil
    case _ where Self.urls.contains(name.canonicalName): changed = changedURL(field.value)
    case _ where Self.texts.contains(name.canonicalName): changed = changedText(field.value, needsHost: false)
    default: changed = nil
    }
    guard let changed else { return nil }
    field.value = changed
    return field
  }

  /// Fields that are a URL, or contain URLs.
  private static let urls: Set<String> = [
    "destination", "x-original-url", "x-original-uri", "x-rewrite-url", "x-forwarded-uri",
  ]
  private static let texts: Set<String> = ["link", "refresh"]

  /// Replaces secrets in a challenge. Negotiate and NTLM send the server's half of a proof (RFC 4559); other schemes have
  /// parameters that are not secret.
  private static func changedChallenge(_ value: String) -> String? {
    guard let space = value.firstIndex(of: " ") else { return nil }
    let scheme = value[..<space].lowercased()
    return scheme == "negotiate" || scheme == "ntlm" ? value[...space] + Trace.Redaction.mark : nil
  }

  func isSecret(_ parameter: String) -> Bool {
    let name = parameter.lowercased()
    return parameters.contains(name) || namesSecret(name)
  }

  /// - Parameter name: The name in lower case.
  private func namesSecret(_ name: String) -> Bool {
    if words.finds(in: name) { return true }
    guard !parts.isEmpty else { return false }
    return name.utf8.split { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: ".") }
      .contains { part in parts.contains { $0.utf8.elementsEqual(part) } }
  }
}
