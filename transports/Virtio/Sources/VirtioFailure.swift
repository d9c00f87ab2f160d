import Byway
import BywayLibC
import BywayPrimitives
import NIOCore

/// The reason why a port could not be opened, with a message for the user.
enum VirtioFailure: DeviceFailure {
  /// No port has the name. The other ports are for the message.
  case noPort(String, [VirtioPort], hasDriver: Bool)
  case ambiguous(String, [VirtioPort])
  /// The file does not exist, or its device is gone.
  case missing(String)
  /// No program has the host's end open.
  case hostAway(String)
  /// The socket of a virtual machine that has ended.
  case nobodyListens(String)
  case noPermission(String)
  case inUse(String)
  /// The place is unusable until the address is changed.
  case unusable(String, String)

  init(openingPort path: String, _ error: SystemError) {
    switch error.code {
    case ENOENT, ENOTDIR, ENXIO, ENODEV: self = .missing(path)
    case EACCES, EPERM: self = .noPermission(path)
    case EBUSY: self = .inUse(path)
    default: self = .unusable(path, "it cannot be opened: \(error)")
    }
  }

  init(connectingTo path: String, _ error: any Error) {
    if case .unixDomainSocketPathTooLong? = error as? SocketAddressError {
      self = .unusable(
        path, "the path of a socket has at most 103 bytes. Give it a shorter one, or make a symbolic link to it")
      return
    }
    switch ConnectFailure(error) {
    case .system(ENOENT), .system(ENOTDIR): self = .missing(path)
    case .system(ECONNREFUSED): self = .nobodyListens(path)
    case .system(EACCES), .system(EPERM): self = .noPermission(path)
    // The kernel's queue of programs that wait for QEMU is full.
    case .system(EAGAIN), .timeout: self = .inUse(path)
    case .system(let code): self = .unusable(path, "\(SystemError(code: code))")
    case .unknownHost, .other: self = .unusable(path, "\(error)")
    }
  }

  var isAbsence: Bool {
    switch self {
    case .noPort, .missing, .hostAway, .nobodyListens: true
    case .ambiguous, .noPermission, .inUse, .unusable: false
    }
  }

  var message: String {
    switch self {
    case .noPort(let name, _, hasDriver: false):
      "There is no virtio port \(name): this machine has no virtio ports. In a virtual machine, load the module virtio_console."
    case .noPort(let name, let ports, hasDriver: true):
      "There is no virtio port \(name): give the virtual machine a virtserialport with name=\(name).\(Self.hint(for: name, ports))"
    case .ambiguous(let name, let ports):
      "More than one virtio port has the name \(name): write virtio:PATH with one of \(ports.map(\.path).joined(separator: ", "))."
    case .missing(let path):
      "There is no \(path): start the virtual machine, or check the path. \(Advice.listing("the virtio ports of this machine"))."
    case .hostAway(let path):
      "Nothing is connected to the host's end of \(path): start byway on the host, with virtio: and the socket of this port."
    case .nobodyListens(let path):
      "Nothing listens on \(path): the virtual machine of this socket has ended. Start it again."
    case .noPermission(let path):
      "Permission denied on \(path): run this as a user that may open it. In a virtual machine, the udev rule 70-byway-virtio.rules gives "
        + "ports with byway in their names to the group dialout."
    case .inUse(let path):
      "\(path) is in use by another program: stop that program, or add another port to the virtual machine."
    case .unusable(let path, let reason):
      "\(path) cannot be used as a virtio port: \(reason)."
    }
  }

  var fault: LinkFault {
    switch self {
    case .noPort, .missing: .noFile
    case .ambiguous: .ambiguous
    case .hostAway, .nobodyListens: .nobodyListens
    case .noPermission: .noPermission
    case .inUse: .inUse
    case .unusable: .notADevice
    }
  }

  private static func hint(for name: String, _ ports: [VirtioPort]) -> String {
    let limit = 8
    guard !ports.isEmpty else { return " It has no other port." }
    let nearest =
      Spelling.nearest(to: name, among: ports.compactMap(\.name)).map { " Did you mean virtio:\($0.visible)?" } ?? ""
    let list = ports.prefix(limit).map { "\($0.address(among: ports)) (\($0.path))" }.joined(separator: ", ")
    return "\(nearest) There are: \(list)\(ports.count > limit ? ", …" : "")."
  }
}
