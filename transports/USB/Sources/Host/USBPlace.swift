import Byway
import BywayPrimitives

/// The place of a `usb:` address.
struct USBPlace: Sendable, Hashable {
  static let options = [
    LinkOption("interface", "number of the interface, if the device has several for links"),
    LinkOption("class", "ipp for the web page of a printer, with http=1.1"),
  ]

  let identity: USBIdentity
  /// The number of the interface; `nil` for the first that is free.
  let interface: UInt8?
  let kind: USBClass

  init(_ address: LinkAddress) throws(BywayError) {
    guard address.authority == nil, let identity = USBIdentity(address.path) else {
      throw BywayError(
        .invalidAddress,
        "\(address) has no identity of a USB device: write usb:VENDOR:PRODUCT or usb:VENDOR:PRODUCT:SERIAL, with four hexadecimal digits "
          + "each, for example usb:1d6b:0104. \(Advice.listing("the devices")).")
    }
    self.identity = identity
    switch address[option: "interface"] {
    case nil: interface = nil
    case let text?:
      guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt8(text) else {
        throw BywayError(
          .invalidAddress, "interface=\(text) is not the number of an interface: write one from 0 to 255.")
      }
      interface = number
    }
    switch address[option: "class"] {
    case nil: kind = .link
    case "ipp":
      guard address[option: "http"] == "1.1" else {
        throw BywayError(.invalidAddress, "\(address) needs http=1.1: a printer does not speak HTTP/2.")
      }
      kind = .ipp
    case let text?: throw BywayError(.invalidAddress, "class=\(text) is unknown: write class=ipp, or leave it out.")
    }
  }
}
