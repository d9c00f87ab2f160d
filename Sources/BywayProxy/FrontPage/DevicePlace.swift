import Byway
import BywayDevices
import BywayHTTPWire

/// The URLs under which a client reaches devices.
struct DevicePlace: Sendable {
  private let scheme: String
  private let authority: Authority?
  private let suffixes: [String]

  /// - Parameter suffixes: the domains of device names.
  init(_ authority: String?, _ scheme: String?, beneath suffixes: [String]) {
    self.suffixes = suffixes
    self.authority = authority.flatMap { try? Authority($0) }
    self.scheme = scheme ?? "http"
  }

  /// - Parameter name: `nil`: the default device.
  func url(of name: DeviceName?) -> String { url(at: name.map { "\($0)" }) }

  /// - Parameter name: a name or a pattern of names; `nil`: the default device.
  func url(at name: String?) -> String {
    let port = authority?.port.map { ":\($0)" } ?? ""
    return "\(scheme)://\(name.map { "\($0)." } ?? "")\(suffix(isOwn: name == nil))\(port)/"
  }

  /// The domain for URLs: the rest of the client's host after `byway.`, if it begins so.
  private func suffix(isOwn: Bool) -> String {
    let front = "\(DeviceHosts.frontPage)."
    guard case .name(let host) = authority?.host else { return "localhost" }
    if host.hasPrefix(front), suffixes.contains(String(host.dropFirst(front.count))) {
      return String(host.dropFirst(front.count))
    }
    if isOwn { return host }
    // A client that used another name of the proxy may be on another machine, where localhost is that machine.
    return host == "localhost" ? host : suffixes.first { $0 != "localhost" } ?? "localhost"
  }
}
