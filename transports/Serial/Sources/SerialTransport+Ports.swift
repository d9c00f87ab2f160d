public import Byway

extension SerialTransport: PortListing {
  public func ports() throws -> [LinkPort] {
    let ports = PortList().all()
    return ports.map { port in
      LinkPort(
        address: port.address(among: ports), device: port.path, name: port.usb?.name,
        unavailableReason: PortProblem.text(at: port.path))
    }
  }
}
