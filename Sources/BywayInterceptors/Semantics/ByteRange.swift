import BywayPrimitives

/// The range of bytes in a `Range` field (RFC 9110 §14.1.2), if it asks for a single one.
enum ByteRange: Equatable {
  case from(Int, through: Int?)
  case last(Int)

  /// Returns `nil` if it asks for something else, such as several ranges: a server may then send everything (§14.2).
  init?(_ field: String) {
    let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].trimmed.lowercased() == "bytes" else { return nil }
    let ends = parts[1].trimmed.split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else { return nil }
    // A number too large to hold means the end as well.
    switch (ends[0].isEmpty, ends[1].isEmpty) {
    case (true, true): return nil
    case (true, false): self = .last(Int(ends[1]) ?? .max)
    case (false, true): self = .from(Int(ends[0]) ?? .max, through: nil)
    case (false, false):
      let (first, last) = (Int(ends[0]) ?? .max, Int(ends[1]) ?? .max)
      guard first <= last else { return nil }
      self = .from(first, through: last)
    }
  }

  /// Returns the bytes within a content of that length; `nil` if it has none of them, which is a 416.
  func bytes(of length: Int) -> Range<Int>? {
    switch self {
    case .from(let first, let last):
      guard first < length else { return nil }
      return first..<(min(last ?? .max, length - 1) + 1)
    case .last(let count):
      guard count > 0, length > 0 else { return nil }
      return max(0, length - count)..<length
    }
  }
}
