public import Byway
import BywayLibC
import BywayPrimitives

extension VirtioTransport: PortListing {
  public func ports() throws -> [LinkPort] {
    let ports = list.all()
    return ports.map { port in
      LinkPort(
        address: port.address(among: ports), device: port.path, name: "virtio port",
        unavailableReason: port.owner.map { "is for \($0)" }
          ?? (access(port.path, R_OK | W_OK) == 0 ? nil : "no permission"))
    }
  }
}
