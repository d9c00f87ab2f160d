import Byway
import BywayLibC
import BywayPrimitives

/// The reason why the computer's end of a cable could not be opened, with a message for the user.
enum USBFailure: DeviceFailure {
  /// The other devices are for the message.
  case noDevice(USBIdentity, [USBDevice])
  case ambiguous(USBIdentity, [USBDevice])
  case noInterface(USBDevice, USBPlace)
  /// The device has left between two steps.
  case gone(USBDevice)
  case noPermission(USBDevice)
  case inUse(USBDevice, USBInterface)
  case unusable(USBDevice, String)

  init(opening device: USBDevice, _ interface: USBInterface, _ error: SystemError) {
    switch error.code {
    case ENOENT, ENODEV, ENXIO, ESHUTDOWN: self = .gone(device)
    case EACCES, EPERM: self = .noPermission(device)
    case EBUSY: self = .inUse(device, interface)
    default: self = .unusable(device, "\(error)")
    }
  }

  var isAbsence: Bool {
    switch self {
    case .noDevice, .gone: true
    case .ambiguous, .noInterface, .noPermission, .inUse, .unusable: false
    }
  }

  var message: String {
    switch self {
    case .noDevice(let identity, let others):
      "There is no USB device \(identity): plug it in, or check its identity.\(Self.list(others))"
    case .ambiguous(let identity, let matches):
      "More than one USB device is \(identity): add a serial number. There are: "
        + "\(matches.map { "\($0.identity)".visible }.joined(separator: ", "))."
    case .noInterface(let device, let place):
      "The USB device \(device.identity) has no interface\(place.interface.map { " \($0)" } ?? "") of class \(place.kind): "
        + (place.kind == .link
          ? "start a gateway with the link usb-gadget: on it." : "it does not offer IPP over USB.")
    case .gone(let device):
      "The USB device \(device.identity) is gone: plug it in again."
    case .noPermission(let device):
      "Permission denied on \(device.path): run this as a user that may open it. The udev rule 70-byway-usb.rules gives devices with links to "
        + "the group dialout."
    case .inUse(let device, let interface):
      "Interface \(interface.number) of the USB device \(device.identity) is in use by "
        + (interface.driver.map { $0 == "usbfs" ? "another program" : "the driver \($0)" } ?? "another program")
        + ": stop what uses it first."
    case .unusable(let device, let reason):
      "The USB device \(device.identity) cannot be used as a link: \(reason)."
    }
  }

  var fault: LinkFault {
    switch self {
    case .noDevice, .gone: .noFile
    case .ambiguous: .ambiguous
    case .noInterface: .nobodyListens
    case .noPermission: .noPermission
    case .inUse: .inUse
    case .unusable: .notADevice
    }
  }

  private static func list(_ devices: [USBDevice]) -> String {
    let limit = 8
    // Hubs are of no interest.
    let others = devices.filter { !$0.interfaces.isEmpty }
    guard !others.isEmpty else { return " There are no such devices here." }
    let texts = others.prefix(limit).map { "\($0.identity)".visible + ($0.name.map { " (\($0))" } ?? "") }
    return " There are: \(texts.joined(separator: ", "))\(others.count > limit ? ", …" : "")."
  }
}
