import HTTPTypes

/// What a 206 has of the whole (RFC 9110 §14.4): `bytes 500-999/1000`.
struct ContentRange: Hashable {
  let start: Int
  /// After its last byte.
  let end: Int
  /// Of the whole; `nil` where its sender does not know.
  let total: Int?

  /// `nil` for what is none, or cannot be right.
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
