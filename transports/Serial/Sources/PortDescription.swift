import Byway

/// A serial port of this machine.
struct PortDescription: Sendable, Hashable {
  let path: String
  /// The identity of the adapter; `nil` if the port is not on USB.
  var usb: USBIdentity?
  /// The name that udev gives to the port while it is in the same socket, or has the same serial number.
  var alias: String?

  /// The stable address of this port: by the adapter's identity if it is unique, and by name otherwise.
  func address(among ports: [PortDescription]) -> String {
    if let usb, usb.isWritable {
      let pattern = USBPattern(usb)
      if ports.filter({ $0.usb.map(pattern.matches) ?? false }).count <= 1 { return "serial:usb:\(pattern)" }
    }
    return "serial:\(alias ?? path)"
  }
}

/// The identity that a USB adapter reports.
struct USBIdentity: Sendable, Hashable {
  let vendor: UInt16
  let product: UInt16
  var serial: String?
  var manufacturer: String?
  var productName: String?

  /// The name of the adapter, such as "FTDI FT232R USB UART".
  var name: String? {
    guard let productName else { return manufacturer }
    guard let manufacturer, !productName.hasPrefix(manufacturer) else { return productName }
    return "\(manufacturer) \(productName)"
  }

  /// Whether the serial number can be part of a link address unchanged.
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
