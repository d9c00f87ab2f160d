import Byway
import BywayPrimitives

/// The settings of a `usb-gadget:` address.
struct GadgetSettings: Sendable, Hashable {
  static let options = [
    LinkOption("name", "name of the gadget in configfs; byway by default"),
    LinkOption("id", "VENDOR:PRODUCT in hexadecimal; 1d6b:0104 by default"),
    LinkOption("serial", "serial number, which tells several devices at one computer apart"),
    LinkOption("product", "name of the device that the computer shows"),
    LinkOption("udc", "controller, a name in /sys/class/udc; the first free one by default"),
  ]
  private static let longestText = 126

  let name: String
  let identity: USBIdentity
  let product: String
  let controller: String?

  init(_ address: LinkAddress) throws(BywayError) {
    name = address[option: "name"] ?? "byway"
    guard Self.isName(name) else {
      throw BywayError(
        .invalidAddress,
        "name=\(name) cannot name a gadget: write up to 40 letters, digits, hyphens, dots and underscores.")
    }
    let serial = address[option: "serial"]
    product = address[option: "product"] ?? "Byway link"
    for (option, text) in [("serial", serial), ("product", product)] {
      if let text, !Self.isText(text) {
        throw BywayError(
          .invalidAddress,
          "\(option)=\(text) cannot be a string of a USB device: write 1 to \(Self.longestText) visible characters.")
      }
    }
    let id = address[option: "id"] ?? "1d6b:0104"
    guard var identity = USBIdentity(id), identity.serial == nil else {
      throw BywayError(.invalidAddress, "id=\(id) is not an identity: write VENDOR:PRODUCT, for example id=1d6b:0104.")
    }
    identity.serial = serial
    self.identity = identity
    controller = address[option: "udc"]
    if let controller, !Self.isName(controller) {
      throw BywayError(.invalidAddress, "udc=\(controller) is not a controller: write a name in /sys/class/udc.")
    }
  }

  private static func isName(_ text: String) -> Bool {
    (1...40).contains(text.utf8.count) && text.first != "."
      && text.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
          || "-_.:".utf8.contains($0)
      }
  }

  private static func isText(_ text: String) -> Bool {
    (1...longestText).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }
}
