import HTTPTypes

/// The range of a 206 response (RFC 9110 §14.4): `bytes 500-999/1000`.
struct ContentRange: Hashable {
  let start: Int
  /// The position after its last byte.
  let end: Int
  /// The length of the whole; `nil` if its sender does not know it.
  let total: Int?

  /// Returns `nil` if there is no valid range.
  init?(_ response: Response) {
    guard let field = response.fields[.contentRange], field.hasPrefix("bytes ") else { return nil }
    let parts = field.dropFirst("bytes ".count).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let places = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard places.count == 2, let start = Self.number(places[0]), let last = Self.number(places[1]), start <= last,
      last < Int.max
    else { return nil }
    let total = Self.number(parts[1])
    guard parts[1] == "*" || total.map({ $0 > last }) ?? false else { return nil }
    self.start = start
    end = last + 1
    self.total = total
  }

  private static func number(_ text: Substring) -> Int? {
    text.utf8.allSatisfy { $0 &- 0x30 < 10 } ? Int(text) : nil
  }
}
