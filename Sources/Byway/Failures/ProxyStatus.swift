import HTTPWire

/// What a hop of ours said of its failure in `Proxy-Status` (RFC 9209 §2.3).
package struct ProxyStatus: Sendable, Hashable {
  /// The type of the error: `destination_unavailable`.
  package let error: String
  /// In words; `nil` where there are none.
  package let details: String?

  /// `nil` where it is not a failure of a hop of ours.
  package init?(_ field: String) {
    guard field.hasPrefix(Self.ours), let start = field.firstRange(of: "; error=") else { return nil }
    error = String(field[start.upperBound...].prefix { $0 != ";" && $0 != "," && $0 != " " })
    details = Self.string(in: field, after: "; details=\"")
  }

  /// How every hop of ours names itself.
  private static let ours = "byway-"

  /// Takes out the members by which somebody else speaks as one of our hops.
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
