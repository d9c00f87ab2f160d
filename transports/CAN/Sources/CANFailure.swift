import Byway
import BywayLibC
import BywayPrimitives

/// The reason why a link over a CAN bus could not be opened, with a message for the user.
enum CANFailure: DeviceFailure {
  /// The kernel lacks the module of that name.
  case noModule(String)
  /// The other CAN interfaces are for the message.
  case noInterface(String, [String])
  case isDown(String)
  case noFD(String)
  case noPermission(String)
  /// The interface is unusable until the address is changed.
  case unusable(String, String)

  init(opening address: CANAddress, _ error: SystemError) {
    let interface = address.interface
    switch error.code {
    case EAFNOSUPPORT: self = .noModule("can")
    case EPROTONOSUPPORT, ESOCKTNOSUPPORT: self = .noModule("can-isotp")
    case ENODEV: self = .noInterface(interface, CANInterfaces.names())
    case ENETDOWN: self = .isDown(interface)
    case EINVAL where address.isFD: self = .noFD(interface)
    case EPERM, EACCES: self = .noPermission(interface)
    default: self = .unusable(interface, "\(error)")
    }
  }

  var isAbsence: Bool {
    switch self {
    case .noInterface, .isDown: true
    case .noModule, .noFD, .noPermission, .unusable: false
    }
  }

  var message: String {
    switch self {
    case .noModule(let name):
      "This machine's kernel has no ISO-TP: load the module \(name), or use another link."
    case .noInterface(let name, let others):
      "There is no CAN interface \(name): plug it in, or choose another.\(Self.list(others))"
    case .isDown(let name):
      "The CAN interface \(name) is down: set the bit rate of the bus, for example \"ip link set \(name) up type can bitrate 500000\"."
    case .noFD(let name):
      "The CAN interface \(name) carries no frames of CAN FD: write fd=no at both ends, or set it up with \"fd on\"."
    case .noPermission(let name):
      "Permission denied on \(name): the system does not let this program open CAN sockets."
    case .unusable(let name, let reason):
      "The interface \(name) cannot be used as a link: \(reason)."
    }
  }

  var fault: LinkFault {
    switch self {
    case .noModule, .isDown: .noRoute
    case .noInterface: .noFile
    case .noPermission: .noPermission
    case .noFD: .badSettings
    case .unusable: .notADevice
    }
  }

  private static func list(_ names: [String]) -> String {
    names.isEmpty ? " There are no CAN interfaces here." : " There are: \(names.joined(separator: ", "))."
  }
}
