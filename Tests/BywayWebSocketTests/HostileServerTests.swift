import Byway
import BywayWebSocket
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import Testing

@Suite("WebSocket client at a server that violates the protocol", .timeLimit(.minutes(2))) struct HostileServerTests {
  struct Violation: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    let code: BywayError.Code
    /// The client's close frame.
    let close: [UInt8]
  }

  static let violations = [
    Violation(
      testDescription: "a frame with a mask", bytes: [0x81, 0x81, 0, 0, 0, 0, 0x61], code: .protocolViolation,
      close: [3, 0xEA]),
    Violation(testDescription: "a reserved bit", bytes: [0xC1, 1, 0x61], code: .protocolViolation, close: [3, 0xEA]),
    Violation(testDescription: "an unknown opcode", bytes: [0x83, 0], code: .protocolViolation, close: [3, 0xEA]),
    Violation(
      testDescription: "an unknown control frame", bytes: [0x8B, 0], code: .protocolViolation, close: [3, 0xEA]),
    Violation(testDescription: "a fragmented ping", bytes: [0x09, 0], code: .protocolViolation, close: [3, 0xEA]),
    Violation(
      testDescription: "a long ping", bytes: [0x89, 126, 0, 126] + [UInt8](repeating: 0, count: 126),
      code: .protocolViolation, close: [3, 0xEA]),
    Violation(
      testDescription: "a last fragment without a first", bytes: [0x80, 0], code: .protocolViolation, close: [3, 0xEA]),
    Violation(
      testDescription: "a new message within another", bytes: [0x01, 1, 0x61, 0x81, 1, 0x62], code: .protocolViolation,
      close: [3, 0xEA]),
    Violation(
      testDescription: "an invalid text", bytes: [0x81, 2, 0xC3, 0x28], code: .protocolViolation, close: [3, 0xEF]),
    Violation(
      testDescription: "a character split over two messages", bytes: [0x81, 1, 0xC3], code: .protocolViolation,
      close: [3, 0xEF]),
    Violation(
      testDescription: "a length beyond all memory", bytes: [0x82, 127, 0x7F, 0, 0, 0, 0, 0, 0, 0],
      code: .tooLarge, close: [3, 0xF1]),
    Violation(
      testDescription: "a message over the limit", bytes: [0x82, 126, 4, 1] + [UInt8](repeating: 0, count: 1025),
      code: .tooLarge, close: [3, 0xF1]),
    Violation(
      testDescription: "fragments over the limit",
      bytes: [0x02, 126, 4, 0] + [UInt8](repeating: 0, count: 1024) + [0x80, 1, 0], code: .tooLarge, close: [3, 0xF1]),
    Violation(testDescription: "half a close code", bytes: [0x88, 1, 3], code: .protocolViolation, close: [3, 0xEA]),
    Violation(
      testDescription: "a reserved close code", bytes: [0x88, 2, 3, 0xED], code: .protocolViolation,
      close: [3, 0xEA]),
    Violation(
      testDescription: "an invalid reason", bytes: [0x88, 3, 3, 0xE8, 0xFF], code: .protocolViolation,
      close: [3, 0xEA]),
  ]

  @Test("a WebSocket client that detects a violation sends a close code and throws an error", arguments: violations)
  func violation(_ violation: Violation) async throws {
    let answer = Mutex<[UInt8]?>(nil)
    let server = SocketServer.handler { server in
      server.send([0x81, 2] + Array("hi".utf8))
      server.send(violation.bytes)
      let frame = try await server.receive()
      answer.withLock { $0 = frame.map { [$0.opcode] + $0.content } }
    }
    var configuration = WebSocket.Configuration.defaults
    configuration.maximumMessageSize = 1024
    try await SocketRig.with(handler: server) { client in
      try await client.withWebSocket("ws://device/", configuration: configuration) { socket in
        var messages = socket.messages.makeAsyncIterator()
        let first = try await messages.next()
        #expect(first == .text("hi"))
        let error = await #expect(throws: BywayError.self) { try await messages.next() }
        #expect(error?.code == violation.code, "\(error as Any)")
        let late = await #expect(throws: BywayError.self) { try await socket.send("x") }
        #expect(late?.code == violation.code)
        #expect(socket.closure == nil)
      }
    }
    #expect(answer.withLock { $0 } == [8] + violation.close)
  }

  @Test("messages are the same when their bytes arrive one by one, in pieces, or with pings in between")
  func pieces() async throws {
    let pong = Mutex<[UInt8]?>(nil)
    let bytes: [UInt8] = [0x01, 2, 0x61, 0x62, 0x89, 3, 1, 2, 3, 0x00, 0, 0x80, 1, 0x63, 0x8A, 0, 0x82, 0, 0x88, 0]
    let server = SocketServer.handler { server in
      for byte in bytes { server.send([byte]) }
      let frame = try await server.receive()
      pong.withLock { $0 = frame.map { [$0.opcode] + $0.content } }
      _ = try await server.receive()
    }
    try await SocketRig.with(handler: server) { client in
      let received = try await client.withWebSocket("ws://device/") { socket in
        var received: [WebSocket.Message] = []
        for try await message in socket.messages { received.append(message) }
        #expect(socket.closure?.code == 1005 && socket.closure?.reason == "")
        return received
      }
      #expect(received == [.text("abc"), .binary(ByteBuffer())])
    }
    #expect(pong.withLock { $0 } == [10, 1, 2, 3])
  }

  @Test("an end without a close frame is an error, as messages may be missing")
  func cutOff() async throws {
    let server = SocketServer.handler { server in server.send([0x81, 1, 0x61]) }
    try await SocketRig.with(handler: server) { client in
      try await client.withWebSocket("ws://device/") { socket in
        var messages = socket.messages.makeAsyncIterator()
        let first = try await messages.next()
        #expect(first == .text("a"))
        let error = await #expect(throws: BywayError.self) { try await messages.next() }
        #expect(error?.code == .originLost, "\(error as Any)")
      }
    }
  }

  @Test("a server that never closes is disconnected after the closing timeout")
  func stubborn() async throws {
    let server = SocketServer.handler { server in
      while try await server.receive() != nil {}
      try await untilCancelled()
    }
    var configuration = WebSocket.Configuration.defaults
    configuration.closing = .milliseconds(50)
    try await SocketRig.with(handler: server) { client in
      try await client.withWebSocket("ws://device/", configuration: configuration) { socket in
        try await socket.send("a")
      }
    }
  }

  @Test("a flooding server is slowed down to the reader's pace, and disconnected when the reader stops")
  func flood() async throws {
    let sent = Mutex(0)
    let message = [0x82, 127, 0, 0, 0, 0, 0, 0, 0x40, 0] + [UInt8](repeating: 7, count: 16_384)
    let handler: @Sendable (Request) async throws -> Response = { _ in
      let endless = AsyncStream<ByteBuffer> {
        sent.withLock { $0 += message.count }
        return ByteBuffer(bytes: message)
      }
      return Response(status: .ok, body: Body(endless))
    }
    var configuration = WebSocket.Configuration.defaults
    configuration.closing = .milliseconds(200)
    try await SocketRig.with(handler: handler) { client in
      try await client.withWebSocket("ws://device/", configuration: configuration) { socket in
        var messages = socket.messages.makeAsyncIterator()
        _ = try await messages.next()
        // The buffers on the way fill up, and then nothing more is produced.
        try await settled(for: .milliseconds(300)) { sent.withLock { $0 } }
        #expect(sent.withLock { $0 } < 4 << 20)
        for _ in 0..<500 { _ = try await messages.next() }
        #expect(sent.withLock { $0 } > 500 * 16_384)
      }
    }
  }

  @Test("a server that pings without reading gets few pongs, including one for the last ping")
  func pings() async throws {
    let count = 40_000
    let pongs = Mutex<(count: Int, last: [UInt8])>((0, []))
    let (pingsRead, readAll) = AsyncStream<Void>.makeStream()
    let server = SocketServer.handler { server in
      for number in 0..<count {
        let content = [UInt8(number & 0xFF), UInt8(number >> 8)] + [UInt8](repeating: 0, count: 123)
        server.send([0x89, 125] + content)
      }
      server.send([0x81, 2] + Array("hi".utf8))
      for await _ in pingsRead {}
      while let frame = try await server.receive(), frame.opcode == 10 {
        pongs.withLock { $0 = ($0.count + 1, Array(frame.content.prefix(2))) }
      }
      server.send([0x88, 0])
    }
    try await SocketRig.with(handler: server) { client in
      try await client.withWebSocket("ws://device/") { socket in
        var messages = socket.messages.makeAsyncIterator()
        let message = try await messages.next()
        #expect(message == .text("hi"))
        readAll.finish()
        // Once the server reads, the pong for its last ping arrives as well.
        let last = [UInt8((count - 1) & 0xFF), UInt8((count - 1) >> 8)]
        #expect(try await eventually { pongs.withLock { $0.last } == last })
        try await socket.send("bye")
        #expect(try await messages.next() == nil)
      }
    }
    #expect(pongs.withLock { $0.count } < count / 2)
  }

  @Test("an error of the caller ends the connection, and is thrown to the caller")
  func userError() async throws {
    struct Mine: Error {}
    let server = SocketServer.handler { server in while try await server.receive() != nil {} }
    try await SocketRig.with(handler: server) { client in
      await #expect(throws: Mine.self) {
        try await client.withWebSocket("ws://device/") { _ in throw Mine() }
      }
    }
  }

  @Test("the server's choice of subprotocol is reported, and an unrequested one or an extension is refused")
  func subprotocols() async throws {
    let chosen = SocketServer.handler([.secWebSocketProtocol: "b"]) { server in _ = try await server.receive() }
    try await SocketRig.with(handler: chosen) { client in
      try await client.withWebSocket("ws://device/", protocols: ["a", "b"]) { #expect($0.subprotocol == "b") }
      let error = await #expect(throws: BywayError.self) {
        try await client.withWebSocket("ws://device/", protocols: ["a"]) { _ in }
      }
      #expect(error?.code == .protocolViolation)
    }
    let extended = SocketServer.handler([.secWebSocketExtensions: "permessage-deflate"]) { _ in }
    try await SocketRig.with(handler: extended) { client in
      let error = await #expect(throws: BywayError.self) { try await client.withWebSocket("ws://device/") { _ in } }
      #expect(error?.code == .protocolViolation)
    }
  }

  @Test("close codes and reasons reserved to the protocol are refused", arguments: [999, 1001, 1005, 1006, 2999, 5000])
  func closeCodes(_ code: Int) async throws {
    let server = SocketServer.handler { server in while try await server.receive() != nil {} }
    try await SocketRig.with(handler: server) { client in
      try await client.withWebSocket("ws://device/", configuration: .short) { socket in
        let error = await #expect(throws: BywayError.self) { try await socket.close(code: code) }
        #expect(error?.code == .invalidRequest)
        let long = String(repeating: "x", count: 124)
        await #expect(throws: BywayError.self) { try await socket.close(reason: long) }
      }
    }
  }
}

extension WebSocket.Configuration {
  fileprivate static var short: Self {
    var configuration = Self.defaults
    configuration.closing = .milliseconds(50)
    return configuration
  }
}
