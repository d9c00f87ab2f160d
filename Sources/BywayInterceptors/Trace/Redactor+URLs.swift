import BywayHTTPWire
import BywayPrimitives

/// Secrets in URLs, and in text that contains URLs.
extension Redactor {
  /// Removes credentials in front of the host, secrets among the parameters of query and fragment, and secrets that the path
  /// announces.
  package func redactedURL(_ url: String) -> String {
    changedURL(url) ?? url
  }

  /// Does the same for bytes.
  /// - Returns: `nil` if there is no secret.
  package func changedURL(_ url: UnsafeRawBufferPointer) -> String? {
    // Most URLs contain nothing that could hide a secret.
    guard url.contains(where: Self.mayHide) || segments.finds(in: url) else { return nil }
    return changedURL(String(decoding: url, as: UTF8.self))
  }

  /// Replaces secrets in text that contains URLs, such as `User-Agent`.
  /// - Returns: `nil` if there is no secret.
  package func changedText(_ text: UnsafeRawBufferPointer) -> String? {
    // Every browser has a slash in its name, but hardly any has two in a row, as a URL does.
    guard Self.hasTwoSlashes(text) else { return nil }
    return changedText(String(decoding: text, as: UTF8.self))
  }

  private static func hasTwoSlashes(_ text: UnsafeRawBufferPointer) -> Bool {
    var start = 0
    while let slash = text.firstOffset(of: UInt8(ascii: "/"), from: start), slash + 1 < text.count {
      if text[slash + 1] == UInt8(ascii: "/") { return true }
      start = slash + 1
    }
    return false
  }

  // MARK: Each function returns `nil` if there is no secret.

  /// Redacts the URLs between spaces and brackets.
  func changedText(_ text: String, needsHost: Bool = true) -> String? {
    var result: String?
    var copied = text.startIndex
    for word in text.utf8.split(whereSeparator: { " \t<>()[]\"',".utf8.contains($0) }) {
      guard !needsHost || Substring(word).contains("//"), let changed = changedURL(String(Substring(word))) else {
        continue
      }
      result = (result ?? "") + text[copied..<word.startIndex] + changed
      copied = word.endIndex
    }
    return result.map { $0 + text[copied...] }
  }

  private static func mayHide(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"), UInt8(ascii: ";"), UInt8(ascii: "%"): true
    default: false
    }
  }

  /// - Parameter depth: The number of URLs that contain this one.
  func changedURL(_ url: String, depth: Int = 0) -> String? {
    let bytes = url.utf8
    let parameters = bytes.firstIndex { "?#".utf8.contains($0) } ?? bytes.endIndex
    let credentials = Self.credentials(in: url[..<parameters])
    let place =
      credentials.map { String(url[..<$0.lowerBound] + url[$0.upperBound..<parameters]) } ?? String(url[..<parameters])
    // Parameters of a path (RFC 3986 §3.3): ;jsessionid=…
    let path = changedPath(place, depth: depth)
    let form = changedPairs(url[parameters...], separators: "&?#", depth: depth)
    if credentials == nil, path == nil, form == nil { return nil }
    return (path ?? place) + (form ?? String(url[parameters...]))
  }

  private func changedPath(_ path: String, depth: Int) -> String? {
    let pairs = changedPairs(path[...], separators: "/", depth: depth)
    var result = ""
    var isAnnounced = false
    var isChanged = false
    for (index, segment) in (pairs ?? path).split(separator: "/", omittingEmptySubsequences: false).enumerated() {
      if index > 0 { result += "/" }
      let isSecret = isAnnounced && !segment.isEmpty
      isChanged = isChanged || isSecret
      result += isSecret ? Trace.Redaction.mark[...] : segment
      isAnnounced = !isSecret && segments.isOne(Self.decoded(segment.utf8).lowercased())
    }
    return isChanged ? result : pairs
  }

  /// Returns the range of the text before the host, including the sign between them.
  private static func credentials(in place: Substring) -> Range<Substring.Index>? {
    guard place.utf8.contains(UInt8(ascii: "@")), let authority = place.firstRange(of: "//")?.upperBound else {
      return nil
    }
    let end = place.utf8[authority...].firstIndex(of: UInt8(ascii: "/")) ?? place.endIndex
    let (user, rest) = Authority.splitUser(place[authority..<end])
    return user == nil ? nil : authority..<rest.startIndex
  }

  /// Replaces secrets in pairs, and keeps everything between them. A semicolon may be between pairs or within a value: what follows
  /// a secret counts as secret up to the next separator.
  func changedPairs(_ text: Substring, separators: String, depth: Int) -> String? {
    var result: String?
    var copied = text.startIndex
    var rest = text.utf8
    while !rest.isEmpty {
      let part = rest.prefix { !separators.utf8.contains($0) }
      if let secret = secret(in: part, depth: depth) {
        result = (result ?? "") + text[copied..<secret] + Trace.Redaction.mark
        copied = part.endIndex
      }
      rest = rest[part.endIndex...].dropFirst()
    }
    return result.map { $0 + text[copied...] }
  }

  /// Finds the beginning of the first secret among pairs with semicolons between them.
  private func secret(in part: Substring.UTF8View, depth: Int) -> Substring.Index? {
    var rest = part
    while !rest.isEmpty {
      let pair = rest.prefix { $0 != UInt8(ascii: ";") }
      if let equals = pair.firstIndex(of: UInt8(ascii: "=")) {
        let value = pair[pair.index(after: equals)...]
        if isSecret(Self.decoded(pair[..<equals])) || holdsSecret(Substring(value), depth: depth) {
          return value.startIndex
        }
      } else if pair.contains(UInt8(ascii: "%")), holdsSecret(Substring(pair), depth: depth) {
        // A whole URL, escaped.
        return pair.startIndex
      }
      rest = rest[pair.endIndex...].dropFirst()
    }
    return nil
  }

  /// Whether a value contains a URL with a secret. The URL may be escaped several times.
  private func holdsSecret(_ value: Substring, depth: Int) -> Bool {
    guard value.utf8.contains(where: { "%/?".utf8.contains($0) }) else { return false }
    // A value that is nested this deep hides something.
    guard depth < Self.depthLimit else { return true }
    if value.contains("//") || value.contains("?"), changedURL(String(value), depth: depth + 1) != nil { return true }
    guard value.utf8.contains(UInt8(ascii: "%")), let plain = PercentEncoding.decode(value), plain != value else {
      return false
    }
    if plain.utf8.contains(UInt8(ascii: "=")), changedPairs(plain[...], separators: "&?#", depth: depth + 1) != nil {
      return true
    }
    return holdsSecret(plain[...], depth: depth + 1)
  }

  private static let depthLimit = 6

  /// Returns a name without escapes, however often it was escaped.
  private static func decoded(_ name: Substring.UTF8View) -> String {
    var text = String(Substring(name))
    for _ in 0..<depthLimit {
      guard text.utf8.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "%") }),
        let plain = PercentEncoding.decode(text.replacing("+", with: " ")), plain != text
      else { break }
      text = plain
    }
    return text
  }
}
