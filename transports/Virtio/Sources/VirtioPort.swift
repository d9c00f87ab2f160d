/// A virtio serial port of this virtual machine.
struct VirtioPort: Sendable, Hashable {
  /// The device file.
  let path: String
  /// The name that the host has given it; `nil` if it has none, like the port of a console.
  let name: String?

  /// The address of a link over this port, if its name is unique and can be part of an address.
  func address(among ports: [VirtioPort]) -> String {
    guard let name, ports.count(where: { $0.name == name }) == 1,
      name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"/?".utf8.contains($0) })
    else { return "virtio:\(path)" }
    return "virtio:\(name)"
  }

  /// The program that such a port is for, if it is not free for links.
  var owner: String? {
    guard let name else { return nil }
    if name.hasPrefix("org.qemu.guest_agent") { return "the guest agent of QEMU" }
    if name.hasPrefix("com.redhat.spice") || name.hasPrefix("org.spice-space") { return "the agent of SPICE" }
    if name.hasPrefix("org.libguestfs") { return "libguestfs" }
    return nil
  }
}
