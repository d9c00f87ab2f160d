/// The identifier of frames on a CAN bus, as `struct sockaddr_can` has it: three hexadecimal digits for 11 bits, eight for 29 bits.
struct CANIdentifier: Sendable, Hashable {
  /// The bit that tells identifiers of 29 bits (CAN_EFF_FLAG).
  private static let extended: UInt32 = 0x8000_0000

  let number: UInt32

  /// - Parameter text: digits as can-utils write them, perhaps with `0x` in front.
  init?(_ text: some StringProtocol) {
    let digits = text.hasPrefix("0x") || text.hasPrefix("0X") ? Substring(text.dropFirst(2)) : Substring(text)
    guard digits.utf8.allSatisfy({ Self.isDigit($0) }), let value = UInt32(digits, radix: 16) else { return nil }
    switch digits.utf8.count {
    case 1...3 where value <= 0x7FF: number = value
    case 8 where value <= 0x1FFF_FFFF: number = value | Self.extended
    default: return nil
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "F"),
      UInt8(ascii: "a")...UInt8(ascii: "f"):
      true
    default: false
    }
  }
}
