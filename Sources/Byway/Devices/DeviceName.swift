/// The name of a device: one label of DNS (RFC 1035 §2.3.1), in lower case.
///
/// Letters, digits and hyphens, a hyphen at neither end, at most 63. So it can stand before `.localhost`, and is never an option, a
/// path, or another host.
public struct DeviceName: Sendable, Hashable {
  package static let maximumLength = 63
  /// For messages.
  package static let rule = "letters, digits and hyphens, at most 63, with a letter or digit at both ends"

  /// In lower case.
  public let text: String

  /// Case does not count. `nil` for what is not a name.
  public init?(_ text: some StringProtocol) {
    let bytes = String(text).utf8
    guard (1...Self.maximumLength).contains(bytes.count), bytes.allSatisfy(Self.isAllowed),
      bytes.first != Self.hyphen, bytes.last != Self.hyphen
    else { return nil }
    self.text = String(decoding: bytes.lazy.map(Self.lowered), as: UTF8.self)
  }

  /// The nearest name to any text: "FTDI FT232R USB UART" becomes `ftdi-ft232r-usb-uart`. `nil` where nothing of it may stand in one.
  ///
  /// Never one that stands for other characters (`xn--…`, RFC 5890 §2.3.1): there are no two hyphens in a row.
  package init?(claimed text: some StringProtocol) {
    let words = text.utf8.split { $0 == Self.hyphen || !Self.isAllowed($0) }
    let bytes = Array(words.joined(separator: CollectionOfOne(Self.hyphen)).prefix(Self.maximumLength))
    self.init(String(decoding: bytes, as: UTF8.self).trimmingHyphens)
  }

  /// The same with a number after it, for another of the same name: `printer-2`. Short enough to be one.
  package func numbered(_ number: Int) -> DeviceName {
    let suffix = "-\(number.magnitude)"
    let stem = String(text.prefix(Self.maximumLength - suffix.utf8.count)).trimmingHyphens
    return DeviceName(validated: stem + suffix)
  }

  /// It stands for characters that are not in it, which browsers show in its place (RFC 5890 §2.3.1).
  package var isEncoded: Bool { text.dropFirst(2).hasPrefix("--") }

  /// For what says nothing of itself.
  package static let unnamed = DeviceName(validated: "device")

  private init(validated text: String) {
    self.text = text
  }

  private static let hyphen = UInt8(ascii: "-")

  private static func isAllowed(_ byte: UInt8) -> Bool {
    (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == hyphen
  }

  private static func lowered(_ byte: UInt8) -> UInt8 {
    byte &- 0x41 < 26 ? byte | 0x20 : byte
  }
}

extension DeviceName: CustomStringConvertible {
  public var description: String { text }
}

extension DeviceName: Comparable {
  public static func < (left: DeviceName, right: DeviceName) -> Bool { left.text < right.text }
}

extension String {
  /// Of a text without two hyphens in a row, or any before its first letter.
  fileprivate var trimmingHyphens: String {
    last == "-" ? String(dropLast()) : self
  }
}
