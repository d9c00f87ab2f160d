import Byway

/// The place of a `virtio:` address.
enum VirtioPlace: Sendable, Hashable {
  /// A port of this virtual machine, by the name that its host has given it.
  case port(String)
  /// The device of a port, or on the host the socket of one.
  case path(String)

  init(_ address: LinkAddress) throws(BywayError) {
    let path = address.path
    guard address.authority == nil, !path.isEmpty, path.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw Self.invalid(address, "has no port")
    }
    if path.hasPrefix("/") {
      self = .path(path)
    } else if path.contains("/") {
      throw Self.invalid(address, "has a relative path")
    } else {
      self = .port(path)
    }
  }

  private static func invalid(_ address: LinkAddress, _ flaw: String) -> BywayError {
    BywayError(
      .invalidAddress,
      "\(address) \(flaw): write virtio:NAME in a virtual machine, such as virtio:org.byway.link, or on its host virtio:/PATH with the "
        + "socket of the port.")
  }
}

extension VirtioPlace: CustomStringConvertible {
  var description: String {
    switch self {
    case .port(let name): "virtio port \(name)"
    case .path(let path): path
    }
  }
}
