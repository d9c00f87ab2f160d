import HTTPTypes

/// Tells an answer of the origin from one that a gateway or proxy gave because it could not reach it.
enum HopFailure {
  /// What the hop says in `Proxy-Status` (RFC 9209 §2.3); `nil` where the answer is the origin's.
  static func message(in response: HTTPResponse) -> String? {
    guard response.status.code >= 400, let name = HTTPField.Name("Proxy-Status"),
      let status = response.headerFields[name], status.hasPrefix("byway-"), status.contains("; error=")
    else { return nil }
    return details(in: status) ?? "The far end answered \(HeadText.text(of: response.status))."
  }

  /// A string of a structured field (RFC 9651 §4.2.5).
  private static func details(in status: String) -> String? {
    guard let start = status.firstRange(of: "; details=\"") else { return nil }
    var text = ""
    var isEscaped = false
    for character in status[start.upperBound...] {
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
