/// The identity of a USB device in an address: `1d6b:0104` or `1d6b:0104:SERIAL`.
package struct USBIdentity: Sendable, Hashable {
  package let vendor: UInt16
  package let product: UInt16
  /// The serial number, which may contain colons. In an address, `nil` matches any.
  package var serial: String?

  package init(vendor: UInt16, product: UInt16, serial: String? = nil) {
    self.vendor = vendor
    self.product = product
    self.serial = serial
  }

  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count >= 2, let vendor = Self.number(parts[0]), let product = Self.number(parts[1]) else { return nil }
    self.vendor = vendor
    self.product = product
    serial = parts.count == 3 ? String(parts[2]) : nil
    if serial?.isEmpty == true { return nil }
  }

  package func matches(_ device: USBIdentity) -> Bool {
    vendor == device.vendor && product == device.product && (serial == nil || serial == device.serial)
  }

  /// Returns the number that four hexadecimal digits stand for.
  package static func number(_ text: some StringProtocol) -> UInt16? {
    guard text.utf8.count == 4, text.utf8.allSatisfy(Hex.isDigit) else { return nil }
    return UInt16(text, radix: 16)
  }

  /// Whether the serial number can be part of a link address unchanged.
  package var isWritable: Bool {
    serial?.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/?%".utf8.contains($0) } ?? true
  }
}

extension USBIdentity: CustomStringConvertible {
  package var description: String { "\(Hex.text(vendor)):\(Hex.text(product))" + (serial.map { ":\($0)" } ?? "") }
}
