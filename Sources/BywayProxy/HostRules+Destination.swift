import Byway
import BywayDevices
import BywayHTTPWire
import HTTPTypes

extension HostRules {
  /// The destination of a request. Absolute form asks the gateway for the server that it names. Every other request goes to a
  /// gateway's origin, which is known here by this proxy's names or its device's name, and by no others.
  func destination(of request: HTTPRequest, among devices: DeviceTable) -> Destination {
    // An interceptor may have changed the request since its target was parsed.
    let named = request.authority.flatMap { try? Authority($0) }
    if let named, case .device(let name) = meaning(of: named) {
      // Interceptors run on this loop. A call from another thread gets a destination for which nothing is stored and no login applies.
      return devices.eventLoop.inEventLoop
        ? devices.destination(of: name) : .device(name, links: ["unknown"], isClaimed: true)
    }
    let isAbsolute = Self.targetForm.map { request.headerFields.contains($0) } ?? false
    return isAbsolute
      ? .asNamed : .origin(isNamedByUser: named.map { isOwn($0, isSecret: request.scheme == "https") } ?? false)
  }

  private static let targetForm = HTTPField.Name("byway-target-form")
}
