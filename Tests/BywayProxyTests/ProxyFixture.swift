import Byway
import BywayGateway
import BywayProxy
import HTTPTypes
import Logging
import LoopbackTransport
import NIOCore
import NIOPosix
import TCPTransport
import TestTools
import TestWire
import Testing
import UnixTransport

/// A fixture with a proxy, and raw connections to it.
protocol ServedProxy {
  var proxy: Proxy { get }
}

extension ServedProxy {
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

  /// Opens a raw connection with a tunnel in it.
  func tunnel(to target: String) async throws -> WireEnd {
    let client = try await wire()
    try await client.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n")
    #expect(try await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
    return client
  }

  /// Sends one HTTP/1.1 request on a new connection, and returns everything that is received.
  func exchange(_ head: String, body: String = "") async throws -> String {
    let client = try await wire()
    try await client.send("\(head)\r\nConnection: close\r\n\r\n\(body)")
    return try await client.receiveToEnd()
  }
}

/// A gateway, a loopback link and a proxy in one process.
struct ProxyFixture: ServedProxy {
  let proxy: Proxy
  let gateway: Gateway?
  private let ending: Ending
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
    let remains = Remains()
    let gateway: Gateway?
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
    let proxy = try await Proxy.start(configuration, group: remains.loops)
    (self.proxy, self.gateway) = (proxy, gateway)
    ending = Ending(of: proxy, gateway.map { [$0] } ?? [], remains)
  }

  func stop() async { await ending.run() }

  /// Returns a client for HTTP/2 with prior knowledge.
  func http2() throws -> BywayClient {
    try BywayClient(transports.link(proxy.address))
  }

  /// Responds with a description of the request.
  static func describe(_ request: Request) async throws -> Response {
    let body = try await request.body.collect(upTo: 1 << 20)
    let target = "\(request.head.method) \(request.head.authority ?? "-") \(request.head.path ?? "-")"
    return Response(status: .ok, body: Body("\(target) \(String(buffer: body))\n"))
  }
}

extension Ending {
  /// Stops a proxy and the gateways behind it, and checks that nothing remains.
  convenience init(of proxy: Proxy, _ gateways: [Gateway], _ remains: Remains) {
    self.init {
      await proxy.stop(within: .zero)
      for gateway in gateways { await gateway.stop(within: .zero) }
      await remains.expectNone()
    }
  }
}

/// A server besides the origin: it responds to everything with the same bytes, or echoes if there are none.
struct OtherServer {
  let port: Int
  private let ending: Ending

  init(answer: String? = nil) async throws {
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Answering(answer: answer.map { ByteBuffer(string: $0) }))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    port = channel.localAddress?.port ?? 0
    ending = Ending { try? await channel.close() }
  }

  func stop() async { await ending.run() }

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
