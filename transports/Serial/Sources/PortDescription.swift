import Byway
import BywayPrimitives

/// A serial port of this machine.
struct PortDescription: Sendable, Hashable {
  let path: String
  /// The adapter; `nil` if the port is not on USB.
  var usb: USBAdapter?
  /// The name that udev gives to the port while it is in the same socket, or has the same serial number.
  var alias: String?

  /// The stable address of this port: by the adapter's identity if it is unique, and by name otherwise.
  func address(among ports: [PortDescription]) -> String {
    if let usb, usb.isWritable, ports.filter({ $0.usb.map { usb.identity.matches($0.identity) } ?? false }).count <= 1 {
      return "serial:usb:\(usb.identity)"
    }
    return "serial:\(alias ?? path)"
  }
}

/// A USB adapter, as it describes itself.
struct USBAdapter: Sendable, Hashable {
  let identity: USBIdentity
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
    identity.serial?.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        true
      default: "-._:".utf8.contains(byte)
      }
    } ?? true
  }
}
