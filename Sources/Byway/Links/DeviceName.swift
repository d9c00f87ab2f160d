/// The name of a device: one label of DNS (RFC 1035 §2.3.1), in lower case.
///
/// Letters, digits and hyphens, at most 63, with no hyphen at either end. So it can stand before `.localhost`, and is never an option, a
/// path, or another host.
public struct DeviceName: Sendable, Hashable {
  package static let maximumLength = 63
  /// The rule in messages.
  package static let rule = "letters, digits and hyphens, at most 63, with a letter or digit at both ends"

  /// The name in lower case.
  public let text: String

  /// Creates a name, ignoring case. Returns `nil` for an invalid name.
  public init?(_ text: some StringProtocol) {
    let bytes = String(text).utf8
    guard (1...Self.maximumLength).contains(bytes.count), bytes.allSatisfy(Self.isAllowed),
      bytes.first != Self.hyphen, bytes.last != Self.hyphen
    else { return nil }
    self.text = String(decoding: bytes.lazy.map(Self.lowered), as: UTF8.self)
  }

  /// Returns the most similar name for a text: "FTDI FT232R USB UART" becomes `ftdi-ft232r-usb-uart`. `nil` if the text has no usable
  /// character.
  ///
  /// Never an encoded name (`xn--…`, RFC 5890 §2.3.1), because it has no two hyphens in a row.
  package init?(claimed text: some StringProtocol) {
    let words = text.utf8.split { $0 == Self.hyphen || !Self.isAllowed($0) }
    let bytes = Array(words.joined(separator: CollectionOfOne(Self.hyphen)).prefix(Self.maximumLength))
    self.init(String(decoding: bytes, as: UTF8.self).trimmingHyphens)
  }

  /// Returns the name with a number, for another device of the same name: `printer-2`. Shortened if necessary.
  package func numbered(_ number: Int) -> DeviceName {
    let suffix = "-\(number.magnitude)"
    let stem = String(text.prefix(Self.maximumLength - suffix.utf8.count)).trimmingHyphens
    return DeviceName(validated: stem + suffix)
  }

  /// Whether browsers show it as other characters (RFC 5890 §2.3.1).
  package var isEncoded: Bool { text.dropFirst(2).hasPrefix("--") }

  /// The name of a device without usable information.
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
  /// The text without a hyphen at its end. It has no two hyphens in a row, and none before its first letter.
  fileprivate var trimmingHyphens: String {
    last == "-" ? String(dropLast()) : self
  }
}
