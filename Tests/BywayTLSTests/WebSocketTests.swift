import Byway
import BywayTLS
import HTTPTypes
import NIOCore
import TestPeers
import Testing

/// WebSockets at a third-party server: over TLS in a tunnel, and unencrypted behind the gateway.
@Suite(.serialized, .timeLimit(.minutes(2))) struct WebSocketTests {
  private func withServer(
    _ isSecure: Bool, _ body: (HTTPSRig, WebSocketServer, HTTPRequest) async throws -> Void
  ) async throws {
    let ca = try await Certificates()
    let server = try await WebSocketServer(tls: isSecure ? ca.server : nil)
    let rig = try await HTTPSRig(.trusting(ca.authority), allowing: ["\(server.endpoint)"])
    var head = HTTPRequest(
      method: .connect, scheme: isSecure ? "https" : "http", authority: "\(server.endpoint)", path: "/")
    head.extendedConnectProtocol = "websocket"
    try await body(rig, server, head)
    await rig.stop()
    await server.stop()
  }

  @Test(
    "WebSocket messages of any length pass over TLS in both directions in order, and both ends close",
    arguments: [true, false])
  func echo(_ isSecure: Bool) async throws {
    try await withServer(isSecure) { rig, server, head in
      let socket = try await ClientWebSocket(rig.client, head)
      for text in ["hello", "", String(repeating: "x", count: 200), String(repeating: "y", count: 70_000)] {
        socket.send(.text, Array(text.utf8))
        #expect(try await socket.next() == .init(.text, Array(text.utf8)))
      }
      let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      socket.send(.binary, bytes)
      let echoed = try await socket.next(.binary)
      #expect(echoed == bytes)
      socket.send(.ping, [1, 2, 3])
      #expect(try await socket.next() == .init(.pong, [1, 2, 3]))
      // Several messages in flight.
      for number in 0..<100 { socket.send(.text, Array("\(number)".utf8)) }
      for number in 0..<100 { #expect(try await socket.next() == .init(.text, Array("\(number)".utf8))) }

      socket.send(.close, [0x03, 0xE8] + Array("done".utf8))
      #expect(try await socket.next() == .init(.close, [0x03, 0xE8] + Array("done".utf8)))
      #expect(try await socket.next() == nil)
      #expect(try await server.closing() == "closed 1000 done")
    }
  }

  @Test("a WebSocket server may send and close at any time", arguments: [true, false])
  func serverFirst(_ isSecure: Bool) async throws {
    try await withServer(isSecure) { rig, server, head in
      let socket = try await ClientWebSocket(rig.client, head)
      socket.send(.text, Array("count 5".utf8))
      for number in 0..<5 { #expect(try await socket.next() == .init(.text, Array("\(number)".utf8))) }
      socket.send(.text, Array("leave".utf8))
      #expect(try await socket.next() == .init(.close, [0x03, 0xE9] + Array("going away".utf8)))
      socket.send(.close, [0x03, 0xE9])
      #expect(try await socket.next() == nil)
      #expect(try await server.closing().hasPrefix("closed 1001"))
    }
  }

  @Test("a client that disconnects without a close frame ends the server's connection", arguments: [true, false])
  func dropped(_ isSecure: Bool) async throws {
    try await withServer(isSecure) { rig, server, head in
      var socket: ClientWebSocket? = try await ClientWebSocket(rig.client, head)
      socket?.send(.text, [0x61])
      #expect(try await socket?.next() == .init(.text, [0x61]))
      socket = nil
      #expect(try await server.closing().hasPrefix("closed 1006"))
    }
  }

  @Test("a WebSocket subprotocol is negotiated, and a refusal arrives unchanged", arguments: [true, false])
  func handshake(_ isSecure: Bool) async throws {
    try await withServer(isSecure) { rig, server, head in
      var head = head
      head.headerFields[.secWebSocketProtocol] = "other, chat"
      let socket = try await ClientWebSocket(rig.client, head)
      #expect(socket.fields[.secWebSocketProtocol] == "chat")
      head.path = "/refused"
      let refused = try await rig.client.execute(Request(head))
      #expect(refused.status == .forbidden)
      #expect(try await refused.text == "not you\n")
      socket.send(.close, [0x03, 0xE8])
      #expect(try await socket.next(.close) == [0x03, 0xE8])
    }
  }

  @Test("twenty WebSockets work at once with requests in between")
  func many() async throws {
    try await withServer(true) { rig, _, head in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<20 {
          group.addTask {
            let socket = try await ClientWebSocket(rig.client, head)
            for round in 0..<20 {
              let text = Array("\(index) \(round)".utf8)
              socket.send(.text, text)
              #expect(try await socket.next() == .init(.text, text))
            }
            #expect(try await rig.get("http://device/") == "origin")
          }
        }
        try await group.waitForAll()
      }
    }
  }
}
