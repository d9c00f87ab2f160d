import Byway
import HTTPTypes
import HTTPWire

extension HostRules {
  /// Absolute form asks the gateway for the server that it names. Everything else goes to the gateway's origin, which has
  /// this proxy's names here and no others.
  func destination(of request: HTTPRequest) -> Destination {
    let isAbsolute = Self.targetForm.map { request.headerFields.contains($0) } ?? false
    let named = request.authority.flatMap { try? Authority($0) }
    return isAbsolute ? .asNamed : .farEnd(isItsName: named.map(isOwn) ?? false)
  }

  private static let targetForm = HTTPField.Name("byway-target-form")
}
