import Byway

/// A serial port of this machine.
struct PortDescription: Sendable, Hashable {
  let path: String
  /// `nil` where it is not on USB.
  var usb: USBIdentity?
  /// A name that udev gives to the port for as long as it is in the same socket, or has the same serial number.
  var alias: String?

  /// The address that finds this port again: by its adapter's identity where only one has it, by name where not.
  func address(among ports: [PortDescription]) -> String {
    if let usb, usb.isWritable {
      let pattern = USBPattern(usb)
      if ports.filter({ $0.usb.map(pattern.matches) ?? false }).count <= 1 { return "serial:usb:\(pattern)" }
    }
    return "serial:\(alias ?? path)"
  }
}

/// What a USB adapter says of itself.
struct USBIdentity: Sendable, Hashable {
  let vendor: UInt16
  let product: UInt16
  var serial: String?
  var manufacturer: String?
  var productName: String?

  /// "FTDI FT232R USB UART"
  var name: String? {
    guard let productName else { return manufacturer }
    guard let manufacturer, !productName.hasPrefix(manufacturer) else { return productName }
    return "\(manufacturer) \(productName)"
  }

  /// Whether the serial number can stand in a link address as it is.
  var isWritable: Bool {
    serial?.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        true
      default: "-._:".utf8.contains(byte)
      }
    } ?? true
  }
}
