import Byway
import BywayPrimitives

/// The validated address of a serial link: the device, and the format of characters on the wire.
struct SerialAddress: Sendable, Hashable {
  enum Device: Sendable, Hashable {
    case path(String)
    /// A USB adapter. It is looked up each time, because its name depends on the order of plugging.
    case usb(USBIdentity)
  }

  let device: Device
  let format: LineFormat

  init(_ address: LinkAddress) throws {
    device = try Device(address)
    format = try LineFormat(address)
  }
}

extension SerialAddress.Device {
  fileprivate init(_ address: LinkAddress) throws {
    let path = address.path
    if address.authority == nil, path.hasPrefix("usb:") {
      guard let pattern = USBIdentity(path.dropFirst(4)) else {
        throw BywayError(
          .invalidAddress,
          "\(address) is not a USB adapter: write serial:usb:VID:PID or serial:usb:VID:PID:SERIAL with VID and PID in "
            + "four hexadecimal digits, such as serial:usb:0403:6001. \(Advice.listing("what is there")).")
      }
      self = .usb(pattern)
      return
    }
    guard address.authority ?? "" == "" else {
      throw BywayError(.invalidAddress, "\(address) has a host in it: write serial:/dev/ttyUSB0, with one slash.")
    }
    // A name without a slash is most likely a device name without /dev/.
    guard path.contains("/"), !path.utf8.contains(0) else {
      let isName = !path.isEmpty && path.utf8.allSatisfy { $0 > 0x20 }
      let other = isName ? "serial:./\(path)" : "serial:usb:VID:PID"
      throw BywayError(
        .invalidAddress,
        "\(address) has no device: write serial:/dev/\(isName ? path : "ttyUSB0"), or \(other). "
          + "\(Advice.listing("what is there")).")
    }
    self = .path(path)
  }
}

extension SerialAddress.Device: CustomStringConvertible {
  var description: String {
    switch self {
    case .path(let path): path
    case .usb(let pattern): "USB adapter \(pattern)"
    }
  }
}
