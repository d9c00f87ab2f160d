/// What a hop of ours said of its failure in `Proxy-Status` (RFC 9209 §2.3).
package struct ProxyStatus: Sendable, Hashable {
  /// The type of the error: `destination_unavailable`.
  package let error: String
  /// In words; `nil` where there are none.
  package let details: String?

  /// `nil` where it is no failure of a hop of ours.
  package init?(_ field: String) {
    guard field.hasPrefix("byway-"), let start = field.firstRange(of: "; error=") else { return nil }
    error = String(field[start.upperBound...].prefix { $0 != ";" && $0 != "," && $0 != " " })
    details = Self.string(in: field, after: "; details=\"")
  }

  package var code: BywayError.Code {
    switch error {
    case "tls_certificate_error": .originUntrusted
    case "http_request_denied": .forbidden
    case "connection_terminated": .originLost
    case "connection_refused": .refused
    case "http_response_timeout": .timedOut
    case "proxy_loop_detected": .loopDetected
    default: .originUnavailable
    }
  }

  /// A string of a structured field (RFC 9651 §4.2.5); `nil` where it is empty or not ended.
  private static func string(in field: String, after prefix: String) -> String? {
    guard let start = field.firstRange(of: prefix) else { return nil }
    var text = ""
    var isEscaped = false
    for character in field[start.upperBound...] {
      switch character {
      case _ where isEscaped:
        text.append(character)
        isEscaped = false
      case "\\": isEscaped = true
      case "\"": return text.isEmpty ? nil : text
      default: text.append(character)
      }
    }
    return nil
  }
}
