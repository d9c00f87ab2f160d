import Byway
import BywayLibC
import BywayPrimitives

/// The virtio serial ports of this system, as the kernel lists them. udev's links in `/dev/virtio-ports` have the same names, but a small
/// system may have no udev.
struct VirtioPortList: Sendable {
  var classes = "/sys/class/virtio-ports"
  var devices = "/dev"

  /// Whether the kernel has the driver.
  var hasDriver: Bool { access(classes, F_OK) == 0 }

  /// All ports in the order of their numbers, `vport0p2` before `vport0p10`.
  func all() -> [VirtioPort] {
    let names = ((try? Folder.names(in: classes)) ?? []).sorted {
      Self.numbers(in: $0).lexicographicallyPrecedes(Self.numbers(in: $1))
    }
    return names.map { name in
      let text = KernelFile.text(of: "\(classes)/\(name)/name")?.trimmingPrefix { $0.isWhitespace }
      let port = text.map { String($0.prefix { !$0.isNewline }) } ?? ""
      return VirtioPort(path: "\(devices)/\(name)", name: port.isEmpty ? nil : port)
    }
  }

  /// Returns the device of the port with that name.
  /// - Throws: ``VirtioFailure`` if there is none, or more than one.
  func path(of name: String) throws(VirtioFailure) -> String {
    let ports = all()
    let matches = ports.filter { $0.name == name }
    guard let match = matches.first else { throw .noPort(name, ports, hasDriver: hasDriver) }
    guard matches.count == 1 else { throw .ambiguous(name, matches) }
    return match.path
  }

  /// Whether the device of that path is a port.
  func contains(_ path: String) -> Bool {
    guard let resolved = try? SymbolicLink.resolved(path) else { return false }
    return all().contains { $0.path == path || (try? SymbolicLink.resolved($0.path)) == resolved }
  }

  /// The reason why a path can never be a port; `nil` if it can.
  func flaw(of path: String) -> VirtioFailure? {
    guard let status = try? FileStatus(of: path) else { return nil }
    switch status.kind {
    case .socket: return nil
    case .characterDevice where contains(path): return nil
    case .characterDevice:
      return .unusable(path, "it is another kind of device. \(Advice.listing("the virtio ports of this machine"))")
    default: return .unusable(path, "it is neither a virtio port nor a socket")
    }
  }

  private static func numbers(in name: String) -> [Int] {
    name.split { !$0.isNumber }.compactMap { Int($0) }
  }
}
