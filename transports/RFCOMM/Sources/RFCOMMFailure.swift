import Byway
import BywayLibC
import BywayPrimitives

/// The reason why a link over Bluetooth could not be opened, with a message for the user.
enum RFCOMMFailure: DeviceFailure {
  /// The kernel lacks the module of that name.
  case noModule(String)
  /// No controller matches; `nil` if any would do. The other controllers are for the message.
  case noController(RFCOMMPlace.Controller?, [BluetoothController])
  case isOff(String)
  /// The controller is on, but no device can connect.
  case isHidden(String)
  case noAnswer(BluetoothAddress)
  case nobodyListens(RFCOMMPlace, LinkPeer)
  /// The device ended the connection before it was open, or the two are not paired as the security level requires.
  case refused(BluetoothAddress, RFCOMMPlace.Security)
  /// The address is that of a controller of this machine, which cannot connect to itself.
  case isOwnAddress(BluetoothAddress)
  /// A program of this machine has the only connection that a device can have to a channel.
  case isConnected(RFCOMMPlace)
  /// A program of this machine listens on the channel.
  case inUse(RFCOMMPlace)
  case noPermission(RFCOMMPlace)
  /// A system call does not return.
  case kernelStuck
  /// More connections at once than are allowed.
  case tooMany
  case unusable(RFCOMMPlace, String)

  init(
    connecting place: RFCOMMPlace, to device: BluetoothAddress, _ error: SystemError,
    on controllers: [BluetoothController],
    expecting peer: LinkPeer
  ) {
    switch error.code {
    case EHOSTUNREACH, ENETUNREACH, ENODEV, ENETDOWN, EADDRNOTAVAIL:
      let isOwn = controllers.contains { $0.address == device }
      self =
        Self.absence(of: place.controller, among: controllers)
        ?? (isOwn ? .isOwnAddress(device) : .unusable(place, "\(error)"))
    case EHOSTDOWN, ETIMEDOUT: self = .noAnswer(device)
    case ECONNREFUSED: self = .nobodyListens(place, peer)
    case ECONNRESET, ECONNABORTED, EACCES, EBADE: self = .refused(device, place.security)
    case EBUSY: self = .isConnected(place)
    default: self.init(opening: place, error)
    }
  }

  init(listeningOn place: RFCOMMPlace, _ error: SystemError) {
    switch error.code {
    case EADDRINUSE: self = .inUse(place)
    case EACCES: self = .noPermission(place)
    default: self.init(opening: place, error)
    }
  }

  private init(opening place: RFCOMMPlace, _ error: SystemError) {
    switch error.code {
    case EAFNOSUPPORT: self = .noModule("bluetooth")
    case EPROTONOSUPPORT, ESOCKTNOSUPPORT: self = .noModule("rfcomm")
    case EPERM: self = .noPermission(place)
    default: self = .unusable(place, "\(error)")
    }
  }

  /// Returns why no controller can be used; `nil` if one can.
  static func absence(
    of controller: RFCOMMPlace.Controller?, among controllers: [BluetoothController]
  ) -> RFCOMMFailure? {
    let matches = controllers.filter { $0.matches(controller) }
    guard let first = matches.first else { return .noController(controller, controllers) }
    return matches.contains(where: \.isUp) ? nil : .isOff(first.name)
  }

  var isAbsence: Bool {
    switch self {
    case .noController, .isOff, .isHidden, .noAnswer, .nobodyListens: true
    case .noModule, .refused, .isOwnAddress, .isConnected, .inUse, .noPermission, .kernelStuck, .tooMany, .unusable:
      false
    }
  }

  var message: String {
    switch self {
    case .noModule(let name):
      "This machine's kernel has no Bluetooth sockets: load the module \(name), for example \"modprobe \(name)\"."
    case .noController(let controller?, let others):
      "There is no Bluetooth controller \(controller): plug it in, or choose another.\(Self.list(others))"
    case .noController(nil, _):
      "There is no Bluetooth controller here: plug one in, or load its driver, such as the module btusb."
    case .isOff(let name):
      "The Bluetooth controller \(name) is off: run \"bluetoothctl power on\", and \"rfkill unblock bluetooth\" if it is blocked."
    case .isHidden(let name):
      "The Bluetooth controller \(name) accepts no connections: run \"btmgmt connectable on\", or \"bluetoothctl discoverable on\"."
    case .noAnswer(let device):
      "The Bluetooth device \(device) did not answer: switch it on, move it closer, and check its address."
    case .nobodyListens(let place, let peer):
      "Nothing listens on channel \(place.channel) of \(place.address.place): start \(peer.name) there, or check the channel."
    case .refused(let device, let security):
      "The Bluetooth device \(device) refused a connection with security=\(security.rawValue): pair the two with \"bluetoothctl pair "
        + "\(device)\", and use the same security= at both ends."
    case .isOwnAddress(let device):
      "\(device) is the address of this machine's own controller: write the address of the other device."
    case .isConnected(let place):
      "This machine is connected to \(place.address.place) already, and a channel has one connection: stop the other program, or use "
        + "its proxy."
    case .inUse(let place):
      "Channel \(place.channel) is already in use: stop what listens there, or choose another channel."
    case .noPermission(let place):
      "Permission denied on \(place.address.place): the system does not let this program open Bluetooth sockets."
    case .kernelStuck:
      "The kernel's Bluetooth does not return from a call: look for the reason with \"dmesg\", and restart this machine."
    case .tooMany:
      "\(ConnectThreads.limit) connections over Bluetooth are being opened already: try again when one of them is open."
    case .unusable(let place, let reason):
      "\(place.address.place) cannot be used as a link: \(reason)."
    }
  }

  var fault: LinkFault {
    switch self {
    case .noModule, .isOff, .isHidden, .isOwnAddress: .noRoute
    case .noController: .noFile
    case .noAnswer, .kernelStuck: .noAnswer
    case .nobodyListens: .nobodyListens
    case .refused: .badSettings
    case .isConnected, .inUse, .tooMany: .inUse
    case .noPermission: .noPermission
    case .unusable: .notConnected
    }
  }

  private static func list(_ controllers: [BluetoothController]) -> String {
    guard !controllers.isEmpty else { return " There are no Bluetooth controllers here." }
    return " There are: \(controllers.map { "\($0.name) (\($0.address))" }.joined(separator: ", "))."
  }
}
