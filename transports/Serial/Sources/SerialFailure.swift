import Byway
import BywayLibC
import BywayPrimitives

/// The reason why a port could not be opened, with a message for the user.
enum SerialFailure: DeviceFailure {
  /// The file does not exist, or has no device.
  case missing(String)
  case noAdapter(USBIdentity)
  case ambiguous(USBIdentity, [PortDescription])
  case noPermission(String, group: DeviceGroup)
  case inUse(String, by: RunningProcess?)
  /// The port is unusable until the address or the device is changed: "/dev/null is not a terminal".
  case unusable(String, String)

  var isAbsence: Bool {
    switch self {
    case .missing, .noAdapter: true
    default: false
    }
  }

  init(opening path: String, _ error: SystemError) {
    switch error.code {
    case ENOENT, ENOTDIR, ENXIO, ENODEV, EIO: self = .missing(path)
    case EACCES, EPERM: self = .noPermission(path, group: DeviceGroup(of: path))
    case EBUSY: self = .inUse(path, by: RunningProcess(holding: path))
    default: self = .unusable(path, "it cannot be opened: \(error)")
    }
  }
}

extension SerialFailure {
  /// The evidence that a known process uses the port.
  var cause: (any Error)? {
    if case .inUse(_, let holder?) = self { PortTaken(by: holder.id) } else { nil }
  }

  var message: String { message(ports: PortList().all()) }

  var fault: LinkFault {
    switch self {
    case .missing, .noAdapter: .noFile
    case .ambiguous: .ambiguous
    case .noPermission: .noPermission
    case .inUse: .inUse
    case .unusable: .notADevice
    }
  }

  var diagnosis: Diagnosis {
    if case .noPermission(let path, let group) = self { return group.diagnosis(of: path) }
    return Diagnosis(fault, message, repair: isAbsence ? .listPorts : nil)
  }

  func message(ports: [PortDescription]) -> String {
    switch self {
    case .missing(let path):
      "There is no serial port \(path): plug it in, or choose another.\(Self.hint(for: path, ports))"
    case .noAdapter(let pattern):
      "No USB adapter \(pattern) is plugged in.\(Self.list(ports))"
    case .ambiguous(let pattern, let matches):
      "More than one USB adapter matches \(pattern): choose one. \(Self.addresses(of: matches, among: ports))"
    case .noPermission(let path, let group):
      group.diagnosis(of: path).sentence
    case .inUse(let path, let holder):
      "\(path) is in use by \(holder?.description ?? "another program"): \(Self.wayOut(of: holder)), or choose another port."
        + (holder == nil || holder?.name == "ModemManager" ? " \(Self.modemManager)" : "")
    case .unusable(let path, let reason):
      "\(path) cannot be used as a link: \(reason)."
    }
  }

  private static func wayOut(of holder: RunningProcess?) -> String {
    holder?.name == "byway" ? "send requests through it if it is a proxy, stop it" : "stop that one"
  }

  private static let modemManager =
    "ModemManager tries new ports for about 10 s: the udev rule 70-byway-serial.rules keeps it away."

  private static func hint(for path: String, _ ports: [PortDescription]) -> String {
    guard let nearest = Spelling.nearest(to: path, among: ports.map(\.path)) else { return list(ports) }
    return " Did you mean \(nearest)?\(list(ports))"
  }

  private static func list(_ ports: [PortDescription]) -> String {
    ports.isEmpty
      ? " There are no serial ports here; \"dmesg\" shows whether the system has seen one."
      : " \(addresses(of: ports, among: ports))"
  }

  private static func addresses(of some: [PortDescription], among ports: [PortDescription]) -> String {
    let limit = 8
    let shown = some.prefix(limit).map { "\($0.address(among: ports)) (\($0.path))" }.joined(separator: ", ")
    return "There are: \(shown)\(some.count > limit ? ", …" : "")."
  }
}

/// The group that may open a device.
struct DeviceGroup: Sendable, Hashable {
  /// The group's name; `nil` if the device grants no access to a group.
  let name: String?
  /// Whether this user is a member. A change applies from the next login on.
  private let includesUser: Bool

  init(name: String?, includesUser: Bool = false) {
    self.name = name
    self.includesUser = includesUser
  }

  init(of path: String) {
    guard let device = try? FileStatus(of: path), device.group != 0, device.permissions & 0o060 == 0o060 else {
      self.init(name: nil)
      return
    }
    var entry = group()
    var found: UnsafeMutablePointer<group>?
    var bytes = [CChar](repeating: 0, count: 4096)
    getgrgid_r(device.group, &entry, &bytes, bytes.count, &found)
    let name = found.map { String(cString: $0.pointee.gr_name) } ?? String(device.group)
    self.init(name: name, includesUser: Self.isMember(geteuid(), of: name))
  }

  /// Whether the system's files list the user as a member.
  private static func isMember(_ user: uid_t, of name: String) -> Bool {
    var (account, found) = (passwd(), UnsafeMutablePointer<passwd>?.none)
    var (entry, foundEntry) = (group(), UnsafeMutablePointer<group>?.none)
    var (bytes, others) = ([CChar](repeating: 0, count: 4096), [CChar](repeating: 0, count: 65_536))
    getpwuid_r(user, &account, &bytes, bytes.count, &found)
    getgrnam_r(name, &entry, &others, others.count, &foundEntry)
    guard let found, var member = foundEntry?.pointee.gr_mem else { return false }
    while let one = member.pointee {
      if strcmp(one, found.pointee.pw_name) == 0 { return true }
      member += 1
    }
    return false
  }

  /// Returns the diagnosis of a device that this user may not open, for errors and for the doctor.
  func diagnosis(of path: String) -> Diagnosis {
    let start = "Permission denied on \(path)"
    let join = "Run \"sudo usermod -aG \(name ?? "dialout") $USER\" and log in again."
    guard let name else {
      return Diagnosis(
        .noPermission,
        "\(start). No group may open it: install the udev rule 70-byway-serial.rules, which gives it to dialout. \(join)"
      )
    }
    guard includesUser else { return Diagnosis(.noPermission, "\(start). \(join)") }
    return Diagnosis(
      .noPermission,
      "\(start): this user has joined group \(name), and this login is older than that. Log in again, or begin a shell in the group.",
      command: "newgrp \(name)")
  }
}
