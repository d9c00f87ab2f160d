import BywayHTTPWire

/// The failure that a Byway hop reports in `Proxy-Status` (RFC 9209 §2.3).
package struct ProxyStatus: Sendable, Hashable {
  /// The type of the error: `destination_unavailable`.
  package let error: String
  /// The message; `nil` if there is none.
  package let details: String?

  /// Returns `nil` if it is not a failure of a Byway hop.
  package init?(_ field: String) {
    guard field.hasPrefix(Self.ours), let start = field.firstRange(of: "; error=") else { return nil }
    error = String(field[start.upperBound...].prefix { $0 != ";" && $0 != "," && $0 != " " })
    details = Self.string(in: field, after: "; details=\"")
  }

  /// The prefix of the names of all Byway hops.
  private static let ours = "byway-"

  /// Removes members with which other senders pose as a Byway hop.
  static func removeOurs(from fields: inout FieldSection) {
    guard fields.contains(.proxyStatus) else { return }
    let members = fields.lines.filter { $0.field == .proxyStatus }.flatMap { ListMembers(fields.value(of: $0)) }
    let others = members.filter { member in
      // A name may be a token or a string (RFC 9209 §2).
      !member.drop { $0 == "\"" }.lowercased().hasPrefix(ours)
    }
    guard others.count < members.count else { return }
    fields.remove(.proxyStatus)
    if !others.isEmpty { fields.append(.proxyStatus, others.joined(separator: ", ")) }
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

  /// Parses a string of a structured field (RFC 9651 §4.2.5); `nil` if it is empty or not terminated.
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
