import Byway
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
