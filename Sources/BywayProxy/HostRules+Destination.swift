import Byway
import HTTPTypes
import HTTPWire

extension HostRules {
  /// Absolute form asks the gateway for the server that it names. Everything else goes to a gateway's origin, which has
  /// this proxy's names here, or its device's, and no others.
  func destination(of request: HTTPRequest, among devices: DeviceTable) -> Destination {
    let named = request.authority.flatMap { try? Authority($0) }
    if let named, case .device(let name) = meaning(of: named) {
      // Chains run on this loop. An interceptor's own thread is told what nothing is kept under, and no login is for.
      return devices.eventLoop.inEventLoop
        ? devices.destination(of: name) : .device(name, roads: ["unknown"], isClaimed: true)
    }
    let isAbsolute = Self.targetForm.map { request.headerFields.contains($0) } ?? false
    return isAbsolute
      ? .asNamed : .farEnd(isItsName: named.map { isOwn($0, isSecret: request.scheme == "https") } ?? false)
  }

  private static let targetForm = HTTPField.Name("byway-target-form")
}
