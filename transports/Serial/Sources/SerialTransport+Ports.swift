public import Byway
import Glibc
import Primitives

extension SerialTransport: PortListing {
  public func ports() throws -> [LinkPort] {
    let ports = PortList().all()
    return ports.map { port in
      LinkPort(
        address: port.address(among: ports), device: port.path, name: port.usb?.name, obstacle: obstacle(at: port.path))
    }
  }

  private func obstacle(at path: String) -> String? {
    if let holder = RunningProcess(holding: path) { return "in use by \(holder)" }
    guard access(path, R_OK | W_OK) != 0 else { return nil }
    return DeviceGroup(of: path).name.map { "only group \($0) may open it" } ?? "no permission"
  }
}
