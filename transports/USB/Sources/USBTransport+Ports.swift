public import Byway
import BywayLibC
import BywayPrimitives

extension USBTransport: PortListing {
  public func ports() throws -> [LinkPort] {
    let devices = list.all()
    return devices.flatMap { device in
      var ports: [LinkPort] = []
      let address = device.address(among: devices)
      let reason = access(device.path, R_OK | W_OK) == 0 ? nil : "no permission"
      let links = device.interfaces.filter { $0.kind == .link }
      for interface in links {
        ports.append(
          LinkPort(
            address: links.count == 1 ? address : "\(address)?interface=\(interface.number)", device: device.path,
            name: device.name, unavailableReason: reason ?? (interface.driver == nil ? nil : "in use")))
      }
      if device.interfaces.contains(where: { $0.kind == .ipp }) {
        ports.append(
          LinkPort(
            address: "\(address)?class=ipp&http=1.1", device: device.path, name: device.name, unavailableReason: reason)
        )
      }
      return ports
    }
  }
}
