import Byway
import NIOCore
import TCPTransport
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import WebSocketTransport

/// Tests links through real web servers and load balancers, in the configurations that their manuals show.
@Suite("A link behind a web server", .serialized) struct WebSocketFrontTests {
  private let ws = WebSocketTransport(over: TCPTransport())
  private let wss = WebSocketTransport(over: TLSTransport())

  @Test(
    "carries 8 MiB both ways, and ends each direction by itself", arguments: FrontServer.Kind.allCases, [false, true])
  func carries(_ kind: FrontServer.Kind, _ isSecure: Bool) async throws {
    let folder = try TemporaryFolder()
    let authority = isSecure ? try await Certificates() : nil
    let listener = try await ws.listen(on: LinkAddress("ws://127.0.0.1:0/byway"), context: .test())
    let hub = try listener.address.hostPort()
    let front = try await FrontServer(kind, in: folder, to: "\(hub)", tls: authority?.server)
    let near: any Channel
    if let authority {
      near = try await wss.connect(
        to: LinkAddress("wss://\(front.endpoint)/byway?ca=\(authority.authority)"), context: .test())
    } else {
      near = try await ws.connect(to: LinkAddress("ws://\(front.endpoint)/byway"), context: .test())
    }
    let far = try #require(try await nextChannel(of: listener))
    for (sender, receiver) in [(near, far), (far, near)] {
      var bytes = ByteBuffer()
      let piece = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
      for _ in 0..<128 { bytes.writeBytes(piece) }
      let sent = bytes
      let receiving = try await receiver.receiving(limit: .seconds(30))
      try await sender.writeAndFlush(sent).get()
      try await sender.close(mode: .output).get()
      let result = try await receiving.get()
      #expect(result.bytes == sent && result.error == nil)
    }
    try await near.closeFuture.get()
    try await far.closeFuture.get()
    await front.stop()
    await listener.close()
  }

  @Test("the far end notices that a peer behind the server was killed", arguments: FrontServer.Kind.allCases)
  func killed(_ kind: FrontServer.Kind) async throws {
    let folder = try TemporaryFolder()
    let listener = try await ws.listen(on: LinkAddress("ws://127.0.0.1:0/byway"), context: .test())
    let front = try await FrontServer(kind, in: folder, to: "\(try listener.address.hostPort())")
    let near = try await ws.connect(to: LinkAddress("ws://\(front.endpoint)/byway"), context: .test())
    let far = try #require(try await nextChannel(of: listener))
    let receiving = try await far.receiving()
    // A killed process sends no close frame.
    try await near.pipeline.context(handlerType: WebSocketLink.self).flatMap { $0.close() }.get()
    let received = try await receiving.get()
    let error = received.error as? BywayError
    #expect(
      error?.code == .linkLost && error?.message.contains("without a close frame") == true,
      "\(received.error as Any)")
    await front.stop()
    await listener.close()
  }

  @Test("the error names the status, and what to change in the server's configuration")
  func misconfigured() async throws {
    let folder = try TemporaryFolder()
    let listener = try await ws.listen(on: LinkAddress("ws://127.0.0.1:0/plain"), context: .test())
    let front = try await FrontServer(.nginx, in: folder, to: "\(try listener.address.hostPort())")
    let plain = await bywayError {
      try await ws.connect(to: LinkAddress("ws://\(front.endpoint)/plain"), context: .test())
    }
    #expect(
      plain?.message.contains("answered 400") == true && plain?.message.contains("pass on Upgrade") == true,
      "\(plain as Any)")
    let missing = await bywayError {
      try await ws.connect(to: LinkAddress("ws://\(front.endpoint)/other"), context: .test())
    }
    #expect(missing?.message.contains("answered 404. There is no link at /other") == true, "\(missing as Any)")
    await listener.close()
    let down = await bywayError {
      try await ws.connect(to: LinkAddress("ws://\(front.endpoint)/plain"), context: .test())
    }
    #expect(
      down?.message.contains("answered 502. The web server there does not reach the hub") == true, "\(down as Any)")
    #expect(down?.diagnosis?.fault == .noGateway)
    await front.stop()
  }
}
