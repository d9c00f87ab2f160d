import Byway
import BywayGateway
import BywayInterceptors
import BywayPrimitives
import BywayProxy
import HTTPTypes
import Logging
import LoopbackTransport
import NIOCore
import TestWire
import UnixTransport

@testable import BywayInspector

/// A device behind a proxy with an inspector, all in this process.
final class InspectedProxy: Sendable {
  let feed: InspectorFeed
  let client: BywayClient
  private let gateway: Gateway
  private let proxy: Proxy
  private let remains = Remains()

  init(
    _ name: String = "\(UInt64.random(in: .min ... .max))", bodyLimit: Int = 1 << 20, showsSecrets: Bool = false,
    pausing limits: Breakpoints.Pauses.Limits = .init(), listen: String? = nil,
    before: [any Interceptor] = [], after: [any Interceptor] = [],
    origin: @escaping @Sendable (Request) async throws -> Response
  ) async throws {
    let transports = TransportRegistry([LoopbackTransport(), UnixTransport()])
    let listen = listen ?? "loopback:\(name)-listen"
    var configuration = GatewayConfiguration(
      links: [try transports.link("loopback:\(name)-link")], origin: .handler(origin))
    configuration.logger = .quiet
    gateway = try await Gateway.start(configuration, group: remains.loops.any())
    let inspector = Inspector(bodyLimit: bodyLimit)
    var outer = ProxyConfiguration(
      link: try transports.link("loopback:\(name)-link"), listen: try transports.link(listen))
    outer.observers = [inspector, remains.ledger]
    let rules = InspectorRules(Breakpoints(of: inspector, limits: limits))
    outer.interceptors = before + [rules] + after
    outer.logger = .quiet
    let proxy = try await Proxy.start(outer, group: remains.loops)
    self.proxy = proxy
    let actions = InspectorActions(
      send: { request, _ in try await proxy.send(request, from: Resending.listener) }, rules: rules)
    feed = InspectorFeed(inspector, showsSecrets: showsSecrets, actions)
    client = try BywayClient(link: listen, transports: [LoopbackTransport(), UnixTransport()])
  }

  /// Connects to the Unix socket that the proxy listens on.
  func connect(to path: String) async throws -> WireEnd {
    try await WireEnd.connect(to: SocketAddress(unixDomainSocketPath: path), on: remains.loops.any())
  }

  // MARK: API

  func ask(
    _ method: HTTPRequest.Method = .get, _ path: String, _ body: String = "", token: String? = nil
  ) async throws -> (status: Int, text: String, fields: HTTPFields) {
    var head = HTTPRequest(method: method, scheme: "http", authority: "localhost:4040", path: path)
    if let token, let name = HTTPField.Name("byway-token") { head.headerFields[name] = token }
    let response = try await feed.respond(to: Request(head, body: Body(body)))
    let text = String(buffer: try await response.body.collect(upTo: 16 << 20))
    return (response.status.code, text, response.head.headerFields)
  }

  func json(_ path: String) async throws -> JSON {
    JSON(parsing: try await ask(.get, path).text) ?? .null
  }

  func exchanges() async throws -> [JSON] { try await json("/api/exchanges")["exchanges"]?.elements ?? [] }

  /// Returns the first events of the stream.
  func events(_ count: Int, after id: String? = nil) async throws -> String {
    let path = "/api/events" + (id.map { "?after=\($0)" } ?? "")
    let head = HTTPRequest(method: .get, scheme: "http", authority: "localhost:4040", path: path)
    let response = try await feed.respond(to: Request(head))
    var text = ""
    for try await chunk in response.body {
      text += String(buffer: chunk)
      if text.ranges(of: "event: ").count >= count { break }
    }
    return text
  }

  func stop() async {
    await client.shutDown()
    await proxy.stop(within: .zero)
    await gateway.stop(within: .zero)
    await remains.expectNone()
  }
}

extension Logger {
  static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
