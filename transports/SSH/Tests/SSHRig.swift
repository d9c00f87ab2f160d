import Byway
import Glibc
import NIOCore
import NIOPosix
import TestPeers
import TestTools
import TransportTestSupport

@testable import SSHTransport

/// A server of the test, and a transport with a valid login.
struct SSHRig {
  let server: SSHServer
  var transport = SSHTransport()

  /// Runs a test with a server that has these lines in its sshd_config.
  static func with(_ configuration: String..., test: (SSHRig) async throws -> Void) async throws {
    let server = try await start(configuration)
    do {
      try await test(SSHRig(server: server))
    } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  /// Runs a test with a transport that probes silent servers after this time, and waits as long for the answer.
  static func with(probing time: TimeAmount, test: (SSHRig) async throws -> Void) async throws {
    var limits = SSHLimits()
    (limits.silence, limits.answer) = (time, time)
    let transport = SSHTransport(limits)
    try await with { rig in try await test(SSHRig(server: rig.server, transport: transport)) }
  }

  private static func start(_ configuration: [String]) async throws -> SSHServer {
    try await SSHServer(in: TemporaryFolder(), configuration.joined(separator: "\n"))
  }

  /// - Parameter rest: the text after host and port: `/path`, `?tcp=…`.
  func address(_ rest: String, user: String? = nil) throws -> LinkAddress {
    let base = "ssh://\(user ?? server.user)@127.0.0.1:\(server.port)"
    return try LinkAddress("\(base)\(rest)\(rest.contains("?") ? "&" : "?")\(server.login)")
  }

  func connect(_ rest: String, context: LinkContext = .test(limit: .seconds(60))) async throws -> any Channel {
    try await transport.connect(to: address(rest), context: context)
  }

  /// The error of a link that cannot be opened.
  func refusal(_ rest: String, user: String? = nil, context: LinkContext = .test(limit: .seconds(60))) async throws
    -> BywayError?
  {
    let address = try address(rest, user: user)
    return await bywayError {
      let channel = try await transport.connect(to: address, context: context)
      channel.close(promise: nil)
    }
  }
}

extension Channel {
  /// Collects the incoming bytes with a long limit: key derivation in other tests may slow the machine down.
  func collected(count: Int = .max) async throws -> Received {
    try await received(count: count, limit: .seconds(60))
  }
}

/// A Unix socket or loopback port whose connections a closure serves.
struct LocalServer {
  let channel: any Channel

  static func start(at path: String, _ serve: @escaping @Sendable (any Channel) throws -> Void) async throws
    -> LocalServer
  {
    LocalServer(channel: try await bootstrap(serve).bind(unixDomainSocketPath: path).get())
  }

  static func start(_ serve: @escaping @Sendable (any Channel) throws -> Void) async throws -> LocalServer {
    LocalServer(channel: try await bootstrap(serve).bind(host: "127.0.0.1", port: 0).get())
  }

  private static func bootstrap(_ serve: @escaping @Sendable (any Channel) throws -> Void) -> ServerBootstrap {
    ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelInitializer { channel in channel.eventLoop.makeCompletedFuture { try serve(channel) } }
  }

  var port: Int { channel.localAddress?.port ?? 0 }

  func stop() async {
    try? await channel.close().get()
  }
}

/// Echoes what it receives, no faster than it is read.
final class Echo: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    context.writeAndFlush(data, promise: nil)
  }

  /// The channel calls this itself after each read.
  func read(context: ChannelHandlerContext) {
    if context.channel.isWritable { context.read() }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { context.read() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case ChannelEvent.inputClosed? = event as? ChannelEvent else { return }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { _ in
      context.close(mode: .output, promise: nil)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// Sends a greeting, and then nothing more.
final class Greeter: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let words: String
  private let thenCloses: Bool

  init(_ words: String, thenCloses: Bool = false) {
    self.words = words
    self.thenCloses = thenCloses
  }

  func channelActive(context: ChannelHandlerContext) {
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: words)), promise: nil)
    if thenCloses { context.close(mode: .output, promise: nil) }
  }
}

/// Reads to the end, and reports the reason of the end.
final class EndReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let end: EventLoopPromise<(any Error)?>
  private var error: (any Error)?

  private init(_ end: EventLoopPromise<(any Error)?>) {
    self.end = end
  }

  /// Adds a reader. It is in the pipeline and reading when this returns.
  static func add(to channel: any Channel) async throws -> EventLoopFuture<(any Error)?> {
    let end = channel.eventLoop.makePromise(of: (any Error)?.self)
    try await channel.eventLoop.submit {
      try channel.pipeline.syncOperations.addHandler(EndReader(end))
      channel.read()
    }.get()
    return end.futureResult
  }

  func channelReadComplete(context: ChannelHandlerContext) { context.read() }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { self.error = self.error ?? error }

  func channelInactive(context: ChannelHandlerContext) { end.succeed(error) }
}

/// Sends bytes as long as the channel is writable.
final class Fountain: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let drop = ByteBuffer(repeating: 0x2A, count: 32 * 1024)

  func channelActive(context: ChannelHandlerContext) { pour(context) }

  func channelWritabilityChanged(context: ChannelHandlerContext) { pour(context) }

  private func pour(_ context: ChannelHandlerContext) {
    while context.channel.isActive, context.channel.isWritable {
      context.writeAndFlush(wrapOutboundOut(drop), promise: nil)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
