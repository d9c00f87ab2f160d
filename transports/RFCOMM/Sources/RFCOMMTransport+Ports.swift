public import Byway

extension RFCOMMTransport: PortListing {
  /// Returns the controllers, with addresses to listen on.
  public func ports() throws -> [LinkPort] {
    let controllers = (try? system.controllers()) ?? []
    return controllers.map { controller in
      let option = controllers.count == 1 ? "" : "?controller=\(controller.name)"
      return LinkPort(
        address: "rfcomm:any:\(RFCOMMPlace.defaultChannel)\(option)", device: controller.name,
        name: "Bluetooth \(controller.address)", unavailableReason: controller.isUp ? nil : "is off")
    }
  }
}
