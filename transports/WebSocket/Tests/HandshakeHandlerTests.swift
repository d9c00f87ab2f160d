import Byway
import BywayHTTPWire
import NIOCore
import NIOEmbedded
import Testing

@testable import WebSocketTransport

/// Tests the handlers of a handshake at both ends in virtual time: each of its ends, and what they leave behind.
@Suite("The handlers of a handshake") struct HandshakeHandlerTests {
  /// A connection with the handler of one end, and handlers around it.
  private final class End {
    let channel = EmbeddedChannel()
    let before = Gate()
    let behind = Record()

    init() throws {
      try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
      try channel.pipeline.syncOperations.addHandler(before)
    }

    func receive(_ text: String) throws {
      try channel.writeInbound(ByteBuffer(string: text))
    }

    /// Returns what this end has sent since the last call.
    func sent() throws -> String {
      var text = ""
      while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
      return text
    }

    func advance(_ milliseconds: Int64 = 0) {
      channel.embeddedEventLoop.advanceTime(by: .milliseconds(milliseconds))
    }

    func has<Handler: ChannelHandler>(_ type: Handler.Type) -> Bool {
      (try? channel.pipeline.syncOperations.handler(type: type)) != nil
    }
  }

  /// Counts the calls that reach the connection, and holds back its end.
  private final class Gate: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private(set) var closes = 0
    private(set) var reads = 0
    var holdsClose = false

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      closes += 1
      if !holdsClose { context.close(mode: mode, promise: promise) }
    }

    func read(context: ChannelHandlerContext) {
      reads += 1
      context.read()
    }
  }

  /// The events behind the handler.
  private final class Record: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private(set) var text = ""
    private(set) var errors = 0
    private(set) var events = 0
    private(set) var completed = 0
    private(set) var isInactive = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { text += String(buffer: unwrapInboundIn(data)) }
    func channelReadComplete(context: ChannelHandlerContext) { completed += 1 }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { errors += 1 }
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) { events += 1 }
    func channelInactive(context: ChannelHandlerContext) { isInactive = true }
  }

  private final class Result: @unchecked Sendable {
    // Sendable: it is used on one thread.
    private(set) var value: Swift.Result<Void, any Error>?

    init(_ future: EventLoopFuture<Void>) { future.whenComplete { self.value = $0 } }

    var isOpen: Bool { if case .success = value { true } else { false } }
    var isFailed: Bool { if case .failure = value { true } else { false } }
    var message: String? { if case .failure(let error) = value { (error as? BywayError)?.message } else { nil } }
  }

  private struct Reset: Error {}

  // MARK: The dialing end

  private let terms = TunnelRequest.Terms(
    opened: { head throws(BywayError) in
      if head.fields.text(of: "x-bad") != nil { throw BywayError(.linkUnavailable, "bad") }
      return []
    },
    refused: { BywayError(.linkUnavailable, "refused \($0.status ?? 0)") },
    failed: { BywayError(.linkUnavailable, "failed \($0 == nil ? "" : "not HTTP")") },
    late: { BywayError(.linkUnavailable, "late") })

  private func dial(_ end: End, seconds: Int64 = 5) throws -> Result {
    var request = FieldSection()
    request.append(.method, "CONNECT")
    request.append(.authority, "hub:1")
    let deadline = end.channel.embeddedEventLoop.now + .seconds(seconds)
    let result = Result(TunnelRequest.send(request, on: end.channel, by: deadline, terms))
    try? end.channel.pipeline.syncOperations.addHandler(end.behind)
    return result
  }

  @Test("a tunnel that opens has what followed the response, and its request is gone")
  func tunnel() throws {
    let end = try End()
    let result = try dial(end)
    #expect(try end.sent().hasPrefix("CONNECT hub:1 HTTP/1.1\r\n") && end.before.reads == 1)
    try end.receive("HTTP/1.1 200")
    #expect(result.value == nil && end.before.reads == 2 && end.has(TunnelRequest.self))
    try end.receive(" OK\r\n\r\nhello")
    #expect(result.isOpen && end.behind.text == "hello" && !end.has(TunnelRequest.self))
    try end.receive(" world")
    end.advance(60_000)
    #expect(end.behind.text == "hello world" && end.channel.isActive && end.behind.completed == 3)
  }

  @Test("a response of several steps opens a tunnel")
  func informational() throws {
    let end = try End()
    let result = try dial(end)
    try end.receive("HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n")
    #expect(result.value == nil)
    try end.receive("HTTP/1.1 200 OK\r\n\r\n")
    #expect(result.isOpen)
  }

  @Test(
    "a response that opens no tunnel ends the connection once, and nothing of it is passed on",
    arguments: [
      ("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno", "refused 403"), ("HTTP/1.1 407 No\r\n\r\nno", "refused 407"),
      ("SSH-2.0-x\r\n\r\n", "failed not HTTP"), ("HTTP/1.1 200 OK\r\nX-Bad: 1\r\n\r\nno", "bad"),
    ])
  func refused(_ response: String, _ message: String) throws {
    let end = try End()
    end.before.holdsClose = true
    let result = try dial(end)
    try end.receive(response)
    #expect(result.message == message && end.before.closes == 1, "\(result.message ?? "")")
    let reads = end.before.reads
    try end.receive("HTTP/1.1 200 OK\r\n\r\nmore")
    end.advance(60_000)
    #expect(end.before.closes == 1 && end.behind.text == "" && end.before.reads == reads)
    end.before.holdsClose = false
    end.channel.close(promise: nil)
  }

  @Test("a request without an answer fails at its deadline, and not before")
  func late() throws {
    let end = try End()
    let result = try dial(end)
    end.advance(4999)
    #expect(result.value == nil && end.channel.isActive)
    end.advance(1)
    #expect(result.message == "late" && !end.channel.isActive)
  }

  @Test("a connection that ends before the response is a failure, however it ends")
  func ends() throws {
    let half = try End()
    let first = try dial(half)
    half.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    #expect(first.message == "failed " && !half.channel.isActive)
    let whole = try End()
    let second = try dial(whole)
    whole.channel.close(promise: nil)
    whole.advance()
    #expect(second.message == "failed " && whole.behind.isInactive)
    let closed = try End()
    closed.channel.close(promise: nil)
    closed.advance()
    #expect(try dial(closed).message == "failed ")
  }

  @Test("an error below has its own words if there are some, and other events are passed on")
  func errorsBelow() throws {
    let end = try End()
    let result = try dial(end)
    end.channel.pipeline.fireErrorCaught(Reset())
    end.channel.pipeline.fireUserInboundEventTriggered(0)
    #expect(end.behind.errors == 1 && end.behind.events == 1 && result.value == nil)
    end.channel.pipeline.fireErrorCaught(BywayError(.linkUnavailable, "TLS failed"))
    #expect(result.message == "TLS failed" && !end.channel.isActive && end.behind.errors == 1)
  }

  @Test("a request that has ended leaves no timer", arguments: ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 403 No\r\n\r\n"])
  func noTimer(_ response: String) throws {
    weak var handler: TunnelRequest?
    let end = try End()
    _ = try dial(end)
    handler = try end.channel.pipeline.syncOperations.handler(type: TunnelRequest.self)
    try end.receive(response)
    end.channel.embeddedEventLoop.run()
    #expect(handler == nil)
  }

  // MARK: The listening end

  private static let request =
    "GET /a HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: byway\r\n\r\n"

  private func accept(_ end: End) throws -> Result {
    let done = end.channel.eventLoop.makePromise(of: Void.self)
    let server = UpgradeServer(
      on: end.channel.eventLoop, within: WebSocketTimes().handshake, done: done,
      decide: { UpgradeAnswer(to: $0, path: "/a", token: nil) }, handlers: { [] })
    try end.channel.pipeline.syncOperations.addHandler(server)
    try end.channel.pipeline.syncOperations.addHandler(end.behind)
    return Result(done.futureResult)
  }

  @Test("a request that opens a link is answered, and what followed it is passed on")
  func accepts() throws {
    let end = try End()
    let result = try accept(end)
    #expect(end.before.reads == 1)
    try end.receive(String(Self.request.prefix(30)))
    #expect(result.value == nil && end.before.reads == 2)
    try end.receive(Self.request.dropFirst(30) + "hello")
    #expect(result.isOpen && end.behind.text == "hello" && !end.has(UpgradeServer.self))
    #expect(try end.sent().hasPrefix("HTTP/1.1 101 "))
    try end.receive(" world")
    end.advance(60_000)
    #expect(end.behind.text == "hello world" && end.channel.isActive && end.before.closes == 0)
  }

  @Test("a refusal has a text with its length, and is the only answer to a client that sends on")
  func refusal() throws {
    let end = try End()
    end.before.holdsClose = true
    let result = try accept(end)
    try end.receive("GET /other HTTP/1.1\r\nHost: h\r\n\r\nGET /other HTTP/1.1\r\nHost: h\r\n\r\n")
    let answer = try end.sent()
    let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1)
    #expect(answer.hasPrefix("HTTP/1.1 404 ") && parts.count == 2)
    #expect(parts.last == "There is no link at this path.\n")
    #expect(parts.first?.lowercased().contains("\r\ncontent-type: text/plain") == true)
    #expect(parts.first?.lowercased().contains("\r\ncontent-length: 31") == true)
    try end.receive(Self.request)
    end.advance(60_000)
    #expect(try end.sent() == "" && end.behind.text == "" && result.value == nil)
    end.before.holdsClose = false
    end.channel.close(promise: nil)
    end.advance()
    #expect(result.isFailed)
  }

  @Test("a client without a whole request in ten seconds is closed", arguments: ["", "GET /a HTTP/1.1\r\n"])
  func slow(_ text: String) throws {
    let end = try End()
    let result = try accept(end)
    try end.receive(text)
    end.before.holdsClose = true
    end.advance(9999)
    #expect(end.before.closes == 0 && result.value == nil)
    end.advance(1)
    #expect(end.before.closes == 1 && result.isFailed)
    // Bytes that come before the connection has ended are ignored.
    try end.receive(Self.request)
    end.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    #expect(try end.sent() == "" && end.before.closes == 1)
    end.before.holdsClose = false
    end.channel.close(promise: nil)
  }

  @Test("the ten seconds for a request do not begin again with each piece of it")
  func trickle() throws {
    let end = try End()
    let result = try accept(end)
    for piece in ["GET /a HTTP/1.1\r\n", "Host: h\r\n", "Upgrade: websocket\r\n"] {
      end.advance(3333)
      try end.receive(piece)
    }
    #expect(end.before.closes == 0 && result.value == nil)
    end.advance(1)
    #expect(end.before.closes == 1 && result.isFailed)
  }

  @Test("a connection that ends or fails before the request is closed, and other events are passed on")
  func endsEarly() throws {
    let half = try End()
    let first = try accept(half)
    half.channel.pipeline.fireUserInboundEventTriggered(0)
    #expect(half.behind.events == 1 && first.value == nil)
    half.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    #expect(first.isFailed && !half.channel.isActive && half.behind.events == 1)
    let failed = try End()
    let second = try accept(failed)
    failed.channel.pipeline.fireErrorCaught(Reset())
    #expect(second.isFailed && !failed.channel.isActive && failed.behind.errors == 0)
    let whole = try End()
    let third = try accept(whole)
    whole.channel.close(promise: nil)
    whole.advance()
    #expect(third.isFailed && whole.behind.isInactive)
    let closed = try End()
    closed.channel.close(promise: nil)
    let late = try? accept(closed)
    closed.advance()
    #expect(late?.isFailed ?? true)
  }

  @Test("a handshake that has ended leaves no timer", arguments: [request, "GET /b HTTP/1.1\r\nHost: h\r\n\r\n"])
  func noServerTimer(_ request: String) throws {
    weak var handler: UpgradeServer?
    let end = try End()
    _ = try accept(end)
    handler = try end.channel.pipeline.syncOperations.handler(type: UpgradeServer.self)
    try end.receive(request)
    end.channel.embeddedEventLoop.run()
    #expect(handler == nil)
  }
}
