import Byway
import BywayGateway
import BywayTLS
import BywayWebSocket
import Foundation
import HTTPTypes
import NIOCore
import TestPeers
import Testing

@Suite("WebSocket client at a real origin", .timeLimit(.minutes(2))) struct WebSocketTests {
  @Test("messages of all sizes are echoed unchanged, and both ends close")
  func echo() async throws {
    let origin = try await OriginServer()
    try await SocketRig.with(origin: origin.url) { client in
      let closure = try await client.withWebSocket("ws://device/websocket") { socket in
        var messages = socket.messages.makeAsyncIterator()
        for size in [0, 1, 125, 126, 65_535, 65_536, 3 << 20] {
          let bytes = ByteBuffer(repeating: UInt8(truncatingIfNeeded: size), count: size)
          try await socket.send(.binary(bytes))
          #expect(try await messages.next() == .binary(bytes), "\(size)")
        }
        try await socket.send("grüß dich")
        #expect(try await messages.next() == .text("grüß dich"))
        try await socket.close(code: 4321, reason: "enough")
        #expect(try await messages.next() == nil)
        let error = await #expect(throws: BywayError.self) { try await socket.send("late") }
        #expect(error?.code == .cancelled)
        return socket.closure
      }
      #expect(closure?.code == 4321)
    }
    await origin.stop()
  }

  @Test("a WebSocket works end to end through TLS with a third-party server")
  func secure() async throws {
    let authority = try await Certificates()
    let server = try await WebSocketServer(tls: authority.server)
    var policy = TLSPolicy()
    try policy.trust.add(certificatesIn: authority.authority, for: "127.0.0.1")
    let origin = Origin.handler { _ in Response(status: .ok) }
    try await SocketRig.with(origin, allowing: "\(server.endpoint)", interceptors: [EndToEndTLS(policy)]) { client in
      try await client.withWebSocket("wss://\(server.endpoint)/", protocols: ["other", "chat"]) { socket in
        #expect(socket.subprotocol == "chat")
        var messages = socket.messages.makeAsyncIterator()
        let text = String(repeating: "y", count: 1 << 20)
        try await socket.send(text)
        #expect(try await messages.next() == .text(text))
        try await socket.close(reason: "done")
        #expect(try await messages.next() == nil)
      }
    }
    #expect(try await server.closing() == "closed 1000 done")
    await server.stop()
  }

  @Test("many WebSockets share one link")
  func many() async throws {
    let origin = try await OriginServer()
    try await SocketRig.with(origin: origin.url) { client in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<50 {
          group.addTask {
            try await client.withWebSocket("ws://device/websocket") { socket in
              var messages = socket.messages.makeAsyncIterator()
              for round in 0..<20 {
                try await socket.send("\(number) \(round)")
                #expect(try await messages.next() == .text("\(number) \(round)"))
              }
            }
          }
        }
        try await group.waitForAll()
      }
    }
    await origin.stop()
  }

  @Test(
    "a response that opens no WebSocket is an error with its status", arguments: ["ws://device/", "http://device/"])
  func refused(_ url: String) async throws {
    let origin = try await OriginServer()
    try await SocketRig.with(origin: origin.url) { client in
      let error = await #expect(throws: BywayError.self) { try await client.withWebSocket(url) { _ in } }
      #expect(error?.code == .refused || error?.code == .protocolViolation, "\(error as Any)")
    }
    await origin.stop()
  }

  @Test("an invalid WebSocket URL is refused")
  func addresses() async throws {
    let server = SocketServer.handler { _ in }
    try await SocketRig.with(handler: server) { client in
      for url in ["device/x", "ftp://device/x", "ws://"] {
        let error = await #expect(throws: BywayError.self) { try await client.withWebSocket(url) { _ in } }
        #expect(error?.code == .invalidRequest, "\(url)")
      }
    }
  }
}
