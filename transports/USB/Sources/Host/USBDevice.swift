import BywayPrimitives

/// A device on a cable of this machine.
struct USBDevice: Sendable, Hashable {
  let identity: USBIdentity
  /// The name that the device reports: "Acme Printer".
  let name: String?
  /// The device file.
  let path: String
  let interfaces: [USBInterface]

  /// The address of a link over this device, with the serial number if that is needed.
  func address(among devices: [USBDevice]) -> String {
    var short = identity
    short.serial = nil
    let isAlone = devices.count(where: { short.matches($0.identity) }) == 1
    return "usb:\(isAlone || !identity.isWritable ? short : identity)"
  }
}

/// A setting of an interface of a device, with the addresses of its bulk endpoints.
struct USBInterface: Sendable, Hashable {
  let number: UInt8
  /// The number of the setting: an interface can have several, for different drivers.
  var alternate: UInt8 = 0
  let kind: USBClass
  /// The endpoint that the device sends on.
  let input: UInt8
  /// The endpoint that the device receives on.
  let output: UInt8
  /// The driver of the kernel that has the interface.
  var driver: String?
}
