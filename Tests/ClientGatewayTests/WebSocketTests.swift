import Byway
import BywayGateway
import Foundation
import HTTPTypes
import LoopbackTransport
import NIOCore
import TestPeers
import Testing

@Suite(.timeLimit(.minutes(1))) struct WebSocketTests {
  @Test("a client opens a WebSocket at an HTTP/1.1 origin, and exchanges bytes in both directions")
  func tunnel() async throws {
    let origin = try await OriginServer()
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:\(UUID())")
    let gateway = try await Gateway.start(GatewayConfiguration(links: [link], origin: try Origin(origin.url)))
    let client = BywayClient(link)

    var head = HTTPRequest(method: .connect, scheme: "http", authority: "device", path: "/websocket")
    head.extendedConnectProtocol = "websocket"
    let (outgoing, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    let socket = try await client.execute(Request(head, body: Body(outgoing)))
    #expect(socket.status == .ok)
    // A text frame, masked with zeros (RFC 6455 §5.2), which the origin echoes without a mask.
    sender.yield(ByteBuffer(bytes: [0x81, 0x85, 0, 0, 0, 0] + Array("hello".utf8)))
    var received = ByteBuffer()
    for try await var chunk in socket.body {
      received.writeBuffer(&chunk)
      if received.readableBytes >= 7 { break }
    }
    #expect(received == ByteBuffer(bytes: [0x81, 5] + Array("hello".utf8)))
    sender.finish()
    await client.shutDown()
    await gateway.stop(within: .seconds(1))
    await origin.stop()
  }
}
