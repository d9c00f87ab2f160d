import Byway
import BywayDevices
import BywayGateway
import HTTPTypes
import LoopbackTransport
import NIOCore
import Testing

/// The gateway's answer to a query for its name.
@Suite("Gateway's description of itself", .timeLimit(.minutes(1))) struct GatewayClaimTests {
  private let link: Link
  private let origin = Origin.handler { _ in Response(status: .ok, body: Body("the origin")) }

  init() throws {
    link = try TransportRegistry([LoopbackTransport()]).link("loopback:claim-\(UInt64.random(in: 0 ... .max))")
  }

  private func configuration(_ name: String?, _ title: String? = nil) -> GatewayConfiguration {
    var configuration = GatewayConfiguration(links: [link], origin: origin)
    configuration.claim = name.map { DeviceClaim(name: DeviceName($0), title: title.flatMap { DeviceText($0) }) }
    return configuration
  }

  private func text(_ response: Response) async throws -> String {
    String(buffer: try await response.body.collect(upTo: DeviceClaim.maximumBytes))
  }

  private func path(_ path: String, _ method: HTTPRequest.Method = .get, _ body: Body = .empty) -> Request {
    Request(HTTPRequest(method: method, scheme: "http", authority: "device", path: path), body: body)
  }

  @Test("a gateway answers GET and HEAD for its description with its name, without the origin")
  func answers() async throws {
    try await withGateway(configuration("printer", "In the hall")) { _, client in
      for target in ["/.well-known/byway", "/.well-known/byway?now"] {
        let response = try await client.execute(path(target))
        #expect(response.status == .ok && response.fields[.contentType] == "application/json")
        let claim = DeviceClaim(reading: Array(try await text(response).utf8))
        #expect(claim == DeviceClaim(name: DeviceName("printer"), title: DeviceText("In the hall")))
      }
      let head = try await client.execute(path("/.well-known/byway", .head))
      #expect(head.status == .ok && head.fields[.contentLength] != "0")
      try await #expect(text(head).isEmpty)
    }
  }

  @Test(
    "a gateway refuses other methods for its description, with any body and fields",
    arguments: [HTTPRequest.Method.post, .put, .delete, .options])
  func otherMethods(_ method: HTTPRequest.Method) async throws {
    try await withGateway(configuration("printer")) { _, client in
      let response = try await client.execute(
        path("/.well-known/byway", method, method == .post ? Body(String(repeating: "x", count: 100_000)) : .empty))
      #expect(response.status == .methodNotAllowed && response.fields[.allow] == "GET, HEAD")
      try await #expect(text(response).isEmpty)
      try await #expect(text(client.execute(path("/"))) == "the origin")
    }
  }

  @Test(
    "every other path is sent to the origin",
    arguments: ["/.well-known/byway/", "/.well-known/bywa", "/.well-known/bywayx", "/"])
  func otherPaths(_ target: String) async throws {
    try await withGateway(configuration("printer")) { _, client in
      try await #expect(text(client.execute(path(target))) == "the origin")
    }
  }

  @Test("without a name, the description's path is sent to the origin")
  func unnamed() async throws {
    try await withGateway(configuration(nil)) { _, client in
      try await #expect(text(client.execute(path("/.well-known/byway"))) == "the origin")
    }
  }

  @Test("interceptors for the origin do not apply to the description")
  func interceptors() async throws {
    struct Closed: Interceptor {
      func intercept(_ request: Request, next: Next) async throws -> Response { Response(status: .forbidden) }
    }
    var closed = configuration("printer")
    closed.interceptors = [Closed()]
    try await withGateway(closed) { _, client in
      try await #expect(client.execute(path("/")).status == .forbidden)
      try await #expect(client.execute(path("/.well-known/byway")).status == .ok)
    }
  }

  @Test("a request for the description in absolute form is not answered by the gateway")
  func absoluteForm() async throws {
    try await withGateway(configuration("printer")) { _, client in
      var request = path("/.well-known/byway")
      request.head.headerFields[try #require(HTTPField.Name("byway-target-form"))] = "absolute"
      try await #expect(client.execute(request).status == .forbidden)
    }
  }

  @Test("a reload changes or removes the name over an open link")
  func reload() async throws {
    try await withGateway(configuration("printer")) { gateway, client in
      func name() async throws -> String? {
        DeviceClaim(reading: Array(try await text(client.execute(path("/.well-known/byway"))).utf8))?.name?.text
      }
      try await #expect(name() == "printer")
      try await gateway.reload(configuration("plotter"), within: .seconds(1))
      try await #expect(name() == "plotter")
      try await gateway.reload(configuration(nil), within: .seconds(1))
      try await #expect(name() == nil)
    }
  }
}
