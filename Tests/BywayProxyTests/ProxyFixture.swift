import Byway
import BywayGateway
import BywayProxy
import HTTPTypes
import Logging
import LoopbackTransport
import NIOCore
import NIOPosix
import TCPTransport
import TestWire
import UnixTransport

/// A gateway, a loopback link and a proxy in one process.
struct ProxyFixture {
  let proxy: Proxy
  let gateway: Gateway?
  private let remains = Remains()
  let transports = TransportRegistry([LoopbackTransport(), TCPTransport(), UnixTransport()])

  /// - Parameters:
  ///   - listen: the address that the proxy listens on.
  ///   - options: options of the link.
  ///   - origin: the origin's URL, in place of `respond`.
  ///   - respond: the origin; `nil`: the link is down.
  ///   - change: adapts the proxy's configuration.
  init(
    listen: String = "tcp://127.0.0.1:0", options: String = "", allowed: [String] = [], origin: String? = nil,
    respond: (@Sendable (Request) async throws -> Response)? = { try await Self.describe($0) },
    change: (inout ProxyConfiguration) -> Void = { _ in }
  ) async throws {
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let link = try transports.link("loopback:proxy-\(UInt64.random(in: 0 ... .max))\(options)")
    if let respond {
      var configuration = try GatewayConfiguration(
        links: [link], origin: origin.map { try Origin($0) } ?? .handler(respond))
      configuration.allowed = try allowed.map { try AllowRule($0) }
      configuration.logger = quiet
      gateway = try await Gateway.start(configuration, group: remains.loops.any())
    } else {
      gateway = nil
    }
    var configuration = ProxyConfiguration(link: link, listen: try transports.link(listen))
    configuration.logger = quiet
    change(&configuration)
    configuration.observers.append(remains.ledger)
    proxy = try await Proxy.start(configuration, group: remains.loops)
  }

  func stop() async {
    await proxy.stop(within: .zero)
    await gateway?.stop(within: .zero)
    await remains.expectNone()
  }

  var port: Int {
    get throws { try proxy.address.hostPort().port ?? 0 }
  }

  /// Opens a raw connection to the proxy.
  func wire() async throws -> WireEnd {
    let address: SocketAddress =
      proxy.address.scheme == "unix"
      ? try SocketAddress(unixDomainSocketPath: proxy.address.path)
      : try SocketAddress(ipAddress: "127.0.0.1", port: port)
    return try await WireEnd.connect(to: address, on: TestLoops.next())
  }

  /// Returns a client for HTTP/2 with prior knowledge.
  func http2() throws -> BywayClient {
    try BywayClient(transports.link(proxy.address))
  }

  /// Sends one HTTP/1.1 request on a new connection, and returns everything that is received.
  func exchange(_ head: String, body: String = "") async throws -> String {
    let client = try await wire()
    try await client.send("\(head)\r\nConnection: close\r\n\r\n\(body)")
    return try await client.receiveToEnd()
  }

  /// Responds with a description of the request.
  static func describe(_ request: Request) async throws -> Response {
    let body = try await request.body.collect(upTo: 1 << 20)
    let target = "\(request.head.method) \(request.head.authority ?? "-") \(request.head.path ?? "-")"
    return Response(status: .ok, body: Body("\(target) \(String(buffer: body))\n"))
  }
}

/// A server besides the origin: it responds to everything with the same bytes, or echoes if there are none.
struct OtherServer {
  let port: Int
  private let channel: any Channel

  init(answer: String? = nil) async throws {
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Answering(answer: answer.map { ByteBuffer(string: $0) }))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    port = channel.localAddress?.port ?? 0
  }

  func stop() async throws {
    try await channel.close()
  }

  private final class Answering: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let answer: ByteBuffer?

    init(answer: ByteBuffer?) {
      self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      context.writeAndFlush(wrapOutboundOut(answer ?? unwrapInboundIn(data)), promise: nil)
    }
  }
}
