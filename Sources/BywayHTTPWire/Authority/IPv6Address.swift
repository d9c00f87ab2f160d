/// An IPv6 address of sixteen bytes (RFC 4291 §2).
package struct IPv6Address: Sendable, Hashable {
  package let high: UInt64
  package let low: UInt64

  package static let loopback = IPv6Address(high: 0, low: 1)

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The bytes in network order.
  package var bytes: [UInt8] {
    [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * UInt64($0))) } }
  }

  // MARK: Reading

  /// Parses the text form (RFC 4291 §2.2).
  init?(_ bytes: UnsafeRawBufferPointer) {
    var groups = Groups()
    /// The groups before "::".
    var head: Groups?
    var index = 0
    if bytes.starts(with: "::".utf8) {
      head = groups
      index = 2
    }
    while index < bytes.count {
      let end = bytes[index...].firstIndex(of: UInt8(ascii: ":")) ?? bytes.count
      let part = UnsafeRawBufferPointer(rebasing: bytes[index..<end])
      if end == bytes.count, part.contains(UInt8(ascii: ".")) {
        guard let address = IPv4Text.read(part) else { return nil }
        groups.append(UInt64(address >> 16))
        groups.append(UInt64(address & 0xFFFF))
      } else {
        guard let group = Self.group(part) else { return nil }
        groups.append(group)
      }
      if (head?.count ?? 0) + groups.count > 8 { return nil }
      if end == bytes.count { break }
      index = end + 1
      if index < bytes.count, bytes[index] == UInt8(ascii: ":") {
        guard head == nil else { return nil }
        head = groups
        groups = Groups()
        index += 1
      } else if index == bytes.count {
        return nil
      }
    }
    if let head {
      guard head.count + groups.count < 8 else { return nil }
      let head = head.padded()
      self.init(high: head.high | groups.high, low: head.low | groups.low)
    } else {
      guard groups.count == 8 else { return nil }
      self.init(high: groups.high, low: groups.low)
    }
  }

  /// Up to eight groups, with the last one in the lowest bits.
  private struct Groups {
    private(set) var high: UInt64 = 0
    private(set) var low: UInt64 = 0
    private(set) var count = 0

    mutating func append(_ group: UInt64) {
      high = high << 16 | low >> 48
      low = low << 16 | group
      count += 1
    }

    /// The groups followed by zeros, eight in all.
    func padded() -> Groups {
      var padded = self
      while padded.count < 8 { padded.append(0) }
      return padded
    }
  }

  private static func group(_ digits: UnsafeRawBufferPointer) -> UInt64? {
    guard (1...4).contains(digits.count) else { return nil }
    var group: UInt64 = 0
    for digit in digits {
      let lowered = digit.loweredASCII
      if digit &- 0x30 < 10 {
        group = group << 4 | UInt64(digit &- 0x30)
      } else if lowered &- 0x61 < 6 {
        group = group << 4 | UInt64(lowered &- 0x61 &+ 10)
      } else {
        return nil
      }
    }
    return group
  }

  /// The first of the longest runs of at least two zeros.
  private static func longestRun(of groups: [UInt16]) -> Range<Int>? {
    var longest: Range<Int>?
    var start = 0
    for index in 0...groups.count where index == groups.count || groups[index] != 0 {
      if index - start > max(1, longest?.count ?? 0) { longest = start..<index }
      start = index + 1
    }
    return longest
  }
}

extension IPv6Address: CustomStringConvertible {
  /// The canonical text form (RFC 5952 §4 and §5).
  package var description: String {
    if high == 0, low >> 32 == 0xFFFF { return "::ffff:" + IPv4Text.write(UInt32(truncatingIfNeeded: low)) }
    let groups = [high, low].flatMap { half in
      [48, 32, 16, 0].map { UInt16(truncatingIfNeeded: half >> UInt64($0)) }
    }
    func text(_ groups: some Sequence<UInt16>) -> String {
      groups.map { String($0, radix: 16) }.joined(separator: ":")
    }
    guard let zeros = Self.longestRun(of: groups) else { return text(groups) }
    return text(groups[..<zeros.lowerBound]) + "::" + text(groups[zeros.upperBound...])
  }
}
