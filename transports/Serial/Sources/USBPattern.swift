import BywayPrimitives

/// A pattern for a USB adapter, independent of its port's name: `0403:6001` or `0403:6001:A50285BI`.
struct USBPattern: Sendable, Hashable {
  let vendor: UInt16
  let product: UInt16
  /// The serial number, which may contain colons; `nil` matches any.
  let serial: String?

  init?(_ text: Substring) {
    let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count >= 2, let vendor = Self.number(parts[0]), let product = Self.number(parts[1]) else { return nil }
    self.vendor = vendor
    self.product = product
    serial = parts.count == 3 ? String(parts[2]) : nil
    if serial?.isEmpty == true { return nil }
  }

  init(_ identity: USBIdentity) {
    vendor = identity.vendor
    product = identity.product
    serial = identity.serial
  }

  func matches(_ identity: USBIdentity) -> Bool {
    vendor == identity.vendor && product == identity.product && (serial == nil || serial == identity.serial)
  }

  private static func number(_ text: Substring) -> UInt16? {
    guard text.utf8.count == 4, text.utf8.first != UInt8(ascii: "+"), text.utf8.first != UInt8(ascii: "-") else {
      return nil
    }
    return UInt16(text, radix: 16)
  }
}

extension USBPattern: CustomStringConvertible {
  var description: String {
    "\(Hex.text(vendor)):\(Hex.text(product))" + (serial.map { ":\($0)" } ?? "")
  }
}
