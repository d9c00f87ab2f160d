import Byway
import BywayGateway
import HTTPTypes
import LoopbackTransport
import NIOCore
import TestTools
import Testing
import TransportTestSupport

/// Each end with a peer that keeps the connection open and sends nothing.
@Suite(.timeLimit(.minutes(1))) struct LivenessTests {
  private let link: Link
  private let hasty = Liveness(silence: .milliseconds(50), answer: .milliseconds(50))

  init() throws {
    let name = "liveness-\(UInt64.random(in: 0 ... .max))"
    link = try TransportRegistry([LoopbackTransport()]).link("loopback:\(name)")
  }

  /// A server's empty SETTINGS and its acknowledgement of the client's.
  private static let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0]
  /// A complete response: status 200 on stream 1.
  private static let answer: [UInt8] = [0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88]
  /// A complete request: GET http://device/ on stream 1.
  private static let request: [UInt8] =
    [0, 0, 11, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x84, 0x41, 6] + Array("device".utf8)

  @Test("a silent gateway fails running requests with its own error, and idempotent ones are repeated")
  func silentGateway() async throws {
    let listener = try await link.transport.listen(on: link.address, context: .test())
    var configuration = BywayClient.Configuration.defaults
    configuration.liveness = hasty
    let client = BywayClient(link, configuration: configuration)
    async let get = client.get("http://device/")
    async let post = bywayError { try await client.execute(Request(.post, url: "http://device/")) }
    var channels = listener.channels.makeAsyncIterator()
    let first = try #require(try await channels.next())
    try await first.writeAndFlush(ByteBuffer(bytes: Self.settings)).get()
    let error = await post
    #expect(error?.code == .linkLost)
    #expect(error?.message.contains("not even the answer to a PING") == true)

    let second = try #require(try await channels.next())
    _ = try await second.received(count: 24 + 9)
    try await second.writeAndFlush(ByteBuffer(bytes: Self.settings + Self.answer)).get()
    #expect(try await get.status == .ok)
    await client.shutDown()
    await listener.close()
    for channel in [first, second] { try? await channel.close().get() }
  }

  @Test("a silent client's requests end at the gateway together with its link")
  func silentClient() async throws {
    let cancelled = AsyncStream.makeStream(of: Void.self)
    var configuration = GatewayConfiguration(
      links: [link],
      origin: .handler { _ in
        await withTaskCancellationHandler {
          try? await untilCancelled()
        } onCancel: {
          cancelled.continuation.yield()
        }
        return Response(status: .ok)
      })
    configuration.liveness = hasty
    let gateway = try await Gateway.start(configuration)
    let client = try await link.transport.connect(to: link.address, context: .test())
    let opening = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Self.settings + Self.request
    let receiving = try await client.receiving()
    try await client.writeAndFlush(ByteBuffer(bytes: opening)).get()
    _ = try await receiving.get()
    for await _ in cancelled.stream { break }
    try? await client.close().get()
    await gateway.stop(within: .zero)
  }

  @Test("a peer that answers PINGs may take any time for a response")
  func patience() async throws {
    let watchful = Liveness(silence: .milliseconds(20), answer: .seconds(20))
    var configuration = GatewayConfiguration(
      links: [link],
      origin: .handler { _ in
        // Real time: twenty times the silence after which the peers send PING.
        try await Task.sleep(for: .milliseconds(400))
        return Response(status: .ok)
      })
    configuration.liveness = watchful
    let gateway = try await Gateway.start(configuration)
    var ours = BywayClient.Configuration.defaults
    ours.liveness = watchful
    let client = BywayClient(link, configuration: ours)
    #expect(try await client.execute(Request(.post, url: "http://device/")).status == .ok)
    await client.shutDown()
    await gateway.stop(within: .zero)
  }
}
