import BywayHTTPWire
import BywayPrimitives

/// A tag for one version of a resource's content (RFC 9110 §8.8.3).
struct EntityTag: Hashable, Sendable, CustomStringConvertible {
  /// The text between the quotes.
  let opaque: String
  /// Whether it names content that means the same, though perhaps not in the same bytes.
  let isWeak: Bool

  init(_ opaque: String, isWeak: Bool = false) {
    self.opaque = opaque
    self.isWeak = isWeak
  }

  /// Returns `nil` if the text is not a tag.
  init?(_ text: some StringProtocol) {
    isWeak = text.hasPrefix("W/")
    let quoted = isWeak ? text.dropFirst(2) : text[...]
    guard quoted.utf8.count >= 2, quoted.hasPrefix("\""), quoted.hasSuffix("\"") else { return nil }
    opaque = String(quoted.dropFirst().dropLast())
    guard !opaque.utf8.contains(UInt8(ascii: "\"")) else { return nil }
  }

  var description: String { (isWeak ? "W/" : "") + "\"\(opaque)\"" }

  /// Compares two tags (§8.8.3.2).
  func weaklyEquals(_ other: EntityTag) -> Bool { opaque == other.opaque }
  func stronglyEquals(_ other: EntityTag) -> Bool { opaque == other.opaque && !isWeak && !other.isWeak }
}

extension EntityTag {
  /// Whether the value of `If-None-Match` contains this tag, or `*` (RFC 9110 §13.1.2).
  func isNamed(byIfNoneMatch list: String) -> Bool {
    if list.trimmed == "*" { return true }
    return ListMembers(list).contains { EntityTag($0)?.weaklyEquals(self) ?? false }
  }
}
