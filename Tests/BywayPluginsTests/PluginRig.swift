import Byway
import BywayGateway
import BywayInterceptors
import BywayPlugins
import BywayProxy
import HTTPTypes
import Logging
import LoopbackTransport
import NIOCore
import ProcessTransport
import TCPTransport
import TestTools
import Testing
import UnixTransport

/// A gateway whose requests pass plugins on their way to an origin, and a client of its link.
final class PluginRig: Sendable {
  static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  static let transports = TransportRegistry([
    LoopbackTransport(), ProcessTransport.ExecTransport(), TCPTransport(), UnixTransport(),
  ])

  let folder: TemporaryFolder
  let plugins: [Plugin]
  let client: BywayClient
  let link: Link
  private let gateway: Gateway

  /// - Parameters:
  ///   - plugins: the addresses of the plugins, in order.
  ///   - settings: changes the settings of each.
  ///   - hops: the folder of their next hops, inside the folder.
  ///   - upgrades: the protocols that requests may upgrade to at the plugins, besides the usual ones.
  init(
    _ plugins: [String], in folder: TemporaryFolder, settings: (inout PluginSettings) -> Void = { _ in },
    logger: Logger = quiet, observer: (any ExchangeObserver)? = nil, hops: String = ".",
    upgrades: [UpgradeProtocol] = [],
    origin: @escaping @Sendable (Request) async throws -> Response
  ) async throws {
    self.folder = folder
    link = try Self.transports.link("loopback:plugins-\(UInt64.random(in: 0 ... .max))")
    self.plugins = try plugins.enumerated().map { index, address in
      var own = PluginSettings(name: "plugin-\(index)")
      // Its start may take long on a busy machine.
      own.timeout = .seconds(60)
      settings(&own)
      return Plugin(
        own,
        at: Plugin.Endpoints(
          link: try Self.transports.link(address),
          next: try Self.transports.link("unix:\(folder["\(hops)/next-\(index).sock"])?mode=0600"), upgrades: upgrades,
          logger: logger))
    }
    var configuration = GatewayConfiguration(links: [link], origin: .handler(origin))
    configuration.logger = Self.quiet
    configuration.interceptors = self.plugins
    configuration.observers = observer.map { [$0] } ?? []
    gateway = try await Gateway.start(configuration)
    client = BywayClient(link)
  }

  /// Opens a WebSocket to an origin that sends everything back.
  func expectWebSocketEcho(_ texts: [String]) async throws {
    var head = HTTPRequest(method: .connect, scheme: "http", authority: "device", path: "/socket")
    head.extendedConnectProtocol = "websocket"
    let (outgoing, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    let socket = try await client.execute(Request(head, body: Body(outgoing)))
    #expect(socket.status == .ok)
    var received = socket.body.makeAsyncIterator()
    try await expectEcho(texts, sender, &received)
  }

  func stop() async {
    await client.shutDown()
    await gateway.stop(within: .zero)
    for plugin in plugins { await plugin.shutDown() }
  }
}

/// Sends texts and then the end, and checks that each arrives before the next one exists.
func expectEcho(
  _ texts: [String], _ sender: AsyncStream<ByteBuffer>.Continuation, _ received: inout Body.AsyncIterator
) async throws {
  for text in texts {
    sender.yield(ByteBuffer(string: text))
    #expect(try await received.next() == ByteBuffer(string: text))
  }
  sender.finish()
  #expect(try await received.next() == nil)
}

/// A plugin in this process: a gateway on a Unix socket, which speaks HTTP/2, and whose origin is a function.
final class TestPlugin: Sendable {
  let address: String
  private let gateway: Gateway

  init(
    in folder: TemporaryFolder, name: String = "plugin",
    _ respond: @escaping @Sendable (Request) async throws -> Response
  ) async throws {
    address = "unix:\(folder["\(name).sock"])"
    var configuration = GatewayConfiguration(
      links: [try PluginRig.transports.link(address)], origin: .handler(respond))
    configuration.logger = PluginRig.quiet
    gateway = try await Gateway.start(configuration)
  }

  func stop() async {
    await gateway.stop(within: .zero)
  }
}

/// Sends requests on to their next hops, over one connection for each. Safe on any thread.
final class NextHops: Sendable {
  private let http: String

  /// - Parameter http: the HTTP version: `2` or `1.1`.
  init(http: String = "2") {
    self.http = http
  }

  func forward(_ request: Request) async throws -> Response {
    let address = request.head.headerFields[.bywayNext] ?? "none:"
    let client = BywayClient(try PluginRig.transports.link("\(address)?http=\(http)"))
    let response = try await client.execute(request)
    return Response(response.head, body: response.body.holding(client))
  }
}

extension HTTPField.Name {
  static let bywayNext = HTTPField.Name("byway-next") ?? .from
  static let bywayExchange = HTTPField.Name("byway-exchange") ?? .from
  static let marked = HTTPField.Name("x-marked") ?? .from
}

extension Response {
  /// The whole body.
  var text: String {
    get async throws { String(buffer: try await body.collect(upTo: 1 << 26)) }
  }
}
