/// The urgency of a response: 0 is sent first, 7 last (RFC 9218 §4.1).
struct Urgency: RawRepresentable, Hashable {
  let rawValue: UInt8

  static let levels = 8
  static let `default` = Urgency(clamped: 3)

  init?(rawValue: UInt8) {
    guard rawValue < Self.levels else { return nil }
    self.rawValue = rawValue
  }

  private init(clamped value: UInt8) {
    rawValue = min(value, UInt8(Self.levels - 1))
  }

  /// Reads the `u` member of a Priority field value, a dictionary of RFC 8941. Invalid values result in the default (RFC 9218
  /// §4: a request should not fail because of them).
  init(priorityField value: UnsafeRawBufferPointer) {
    var found = Self.default
    for member in value.split(separator: UInt8(ascii: ",")) {
      let text = member.drop { $0 == 0x20 || $0 == 0x09 }
      guard text.count >= 3, text.starts(with: "u=".utf8) else { continue }
      let afterDigit = text.dropFirst(3).first
      guard afterDigit == nil || afterDigit == 0x20 || afterDigit == 0x09 || afterDigit == UInt8(ascii: ";"),
        let urgency = Urgency(rawValue: text[text.startIndex + 2] &- UInt8(ascii: "0"))
      else { continue }
      // The last member counts (RFC 8941 §3.2).
      found = urgency
    }
    self = found
  }
}
