import Byway
import BywayDevices
import BywayHTTPWire
import HTTPTypes
import NIOCore

/// The list of devices at this proxy's own address: as a page, as JSON, and as an event stream.
enum FrontPage {
  /// The page loads only its own resources, and values from devices are text.
  private static let policy =
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    + "frame-ancestors 'none'"

  /// Lives on the devices' event loop.
  static func handler(for devices: VisibleDevices, _ watchers: WatcherSlots) -> any ExchangeHandler {
    AsyncExchangeHandler(on: LoopExecutor(devices.eventLoop)) { try await respond(to: $0, devices, watchers) }
  }

  private static func respond(
    to request: Request, _ devices: VisibleDevices, _ watchers: WatcherSlots
  ) async throws -> Response {
    guard request.head.method == .get || request.head.method == .head else {
      return answer(
        "The list of devices answers GET and HEAD.\n", "text/plain", .methodNotAllowed, [.allow: "GET, HEAD"])
    }
    let place = DevicePlace(request.head.authority, request.head.scheme, beneath: await devices.suffixes())
    switch (request.head.path ?? "/").prefix(while: { $0 != "?" }) {
    case "/":
      return answer(FrontPageText.html(await devices.listing(for: request.user, at: place)), "text/html")
    case "/devices.json":
      return answer("\(await devices.listing(for: request.user, at: place).json)\n", "application/json")
    case "/devices.css":
      return answer(FrontPageStyle.text, "text/css")
    case "/devices.js":
      return answer(FrontPageScript.text, "text/javascript")
    case "/events":
      guard let slot = watchers.take(for: request.user) else {
        return answer("Too many clients follow the list.\n", "text/plain", .serviceUnavailable, [.retryAfter: "10"])
      }
      let events = Body(DeviceEvents(devices, for: request.user, at: place, slot))
      return Response(
        status: .ok, fields: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: events)
    default:
      return answer("Only the list of devices is here: GET / or /devices.json.\n", "text/plain", .notFound)
    }
  }

  private static func answer(
    _ text: String, _ type: String, _ status: HTTPResponse.Status = .ok, _ more: HTTPFields = [:]
  ) -> Response {
    var fields = more
    fields[.contentType] = "\(type); charset=utf-8"
    fields[.cacheControl] = "no-store"
    fields[.contentSecurityPolicy] = policy
    fields[.xContentTypeOptions] = "nosniff"
    return Response(status: status, fields: fields, body: Body(text))
  }
}

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
