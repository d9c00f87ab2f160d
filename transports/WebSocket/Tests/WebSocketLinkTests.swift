import Byway
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import WebSocketTransport

/// Tests one end of a link in virtual time. The peer's frames are written byte by byte here.
@Suite("A link over WebSocket") struct WebSocketLinkTests {
  /// A server's end, or a client's.
  private final class End {
    let channel: EmbeddedChannel
    let record = EventRecord()

    init(isClient: Bool = true) throws {
      channel = EmbeddedChannel()
      try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
      try channel.setOption(.allowRemoteHalfClosure, value: true).wait()
      try channel.pipeline.syncOperations.addHandlers(
        WebSocketLink.handlers(peer: "The peer", isClient: isClient, times: WebSocketTimes()) + [record])
      channel.read()
    }

    func receive(_ bytes: [UInt8]) throws {
      try channel.writeInbound(ByteBuffer(bytes: bytes))
    }

    /// Returns the bytes that this end has sent since the last call.
    func sent() throws -> [UInt8] {
      var bytes: [UInt8] = []
      while let buffer = try channel.readOutbound(as: ByteBuffer.self) { bytes += buffer.readableBytesView }
      return bytes
    }

    func advance(_ seconds: Int64) {
      channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
    }
  }

  private final class EventRecord: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    var bytes: [UInt8] = []
    var errors: [BywayError] = []
    var otherErrors = 0
    var otherEvents = 0
    var writabilityChanges = 0
    var isInactive = false
    var hasInputEnded = false
    var readsOn = true

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      bytes += unwrapInboundIn(data).readableBytesView
      if readsOn { context.read() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      if let error = error as? BywayError { errors.append(error) } else { otherErrors += 1 }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if event as? ChannelEvent == .inputClosed { hasInputEnded = true } else { otherEvents += 1 }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) { writabilityChanges += 1 }
    func channelInactive(context: ChannelHandlerContext) { isInactive = true }
  }

  @Test("the server sends messages of at most 16 KiB, without a mask")
  func pieces() throws {
    let end = try End(isClient: false)
    try end.channel.writeAndFlush(ByteBuffer(repeating: 7, count: 40_000)).wait()
    let sent = try end.sent()
    #expect(sent.prefix(4) == [0x82, 126, 0x40, 0x00])
    #expect(sent.count == 40_000 + 3 * 4)
    #expect(Array(sent[(2 * 16_388)...].prefix(4)) == [0x82, 126, 0x1C, 0x40])
  }

  @Test("answers a PING with its content, and sends its own only on a quiet link")
  func pings() throws {
    let end = try End(isClient: false)
    try end.receive([0x89, 0x83, 0, 0, 0, 0] + Array("abc".utf8))
    #expect(try end.sent() == [0x8A, 3] + Array("abc".utf8))
    // It has received and sent in this half minute.
    end.advance(30)
    #expect(try end.sent() == [])
    end.advance(30)
    #expect(try end.sent() == [0x89, 0])
    try end.receive([0x8A, 0x80, 0, 0, 0, 0])
    end.advance(29)
    #expect(try end.sent() == [])
    #expect(end.channel.isActive && end.record.errors.isEmpty)
    end.advance(1)
    #expect(try end.sent() == [0x89, 0])
  }

  @Test("a peer that only receives is sent a PING, too, so that no router forgets it")
  func oneDirection() throws {
    let end = try End(isClient: false)
    try end.channel.writeAndFlush(ByteBuffer(string: "a")).wait()
    _ = try end.sent()
    end.advance(30)
    #expect(try end.sent() == [0x89, 0])
  }

  @Test("gives up a peer that does not answer a PING within twenty seconds")
  func noPong() throws {
    let end = try End(isClient: false)
    end.advance(49)
    #expect(end.record.errors.isEmpty)
    end.advance(1)
    #expect(end.record.errors.map(\.message) == ["The peer did not answer a PING within 20 s."])
    #expect(end.record.errors.first?.code == .linkLost && !end.channel.isActive)
  }

  @Test("a PONG that waits because the owner does not read is not missed")
  func unread() throws {
    let end = try End(isClient: false)
    // The owner has got bytes, and has not asked for more.
    end.record.readsOn = false
    try end.receive([0x82, 0x81, 0, 0, 0, 0, 1])
    end.advance(120)
    #expect(end.channel.isActive)
  }

  @Test("a close frame ends one direction, and the other continues until it is closed")
  func halfClose() throws {
    let end = try End(isClient: false)
    try end.receive([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8])
    #expect(end.record.hasInputEnded && end.channel.isActive)
    try end.channel.writeAndFlush(ByteBuffer(string: "rest")).wait()
    #expect(try end.sent() == [0x82, 4] + Array("rest".utf8))
    end.channel.close(mode: .output, promise: nil)
    #expect(try end.sent() == [0x88, 2, 0x03, 0xE8])
    end.channel.embeddedEventLoop.run()
    #expect(!end.channel.isActive && end.record.errors.isEmpty)
  }

  @Test("a full close sends a close frame, and waits a second for the peer's")
  func fullClose() throws {
    for answers in [true, false] {
      let end = try End(isClient: false)
      end.channel.close(promise: nil)
      #expect(try end.sent() == [0x88, 2, 0x03, 0xE8])
      #expect(end.channel.isActive)
      if answers {
        try end.receive([0x88, 0x80, 0, 0, 0, 0])
      } else {
        end.advance(1)
      }
      end.channel.embeddedEventLoop.run()
      #expect(!end.channel.isActive && end.record.errors.isEmpty)
    }
  }

  @Test(
    "an end without a close frame, or within a frame, is an error", arguments: [[], [0x82, 0x85, 0, 0]] as [[UInt8]])
  func cut(_ bytes: [UInt8]) throws {
    let end = try End(isClient: false)
    try end.receive(bytes)
    end.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    end.channel.embeddedEventLoop.run()
    #expect(end.record.errors.map(\.code) == [.linkLost] && !end.channel.isActive)
    #expect(end.record.errors.first?.message.contains("without a close frame") == true)
  }

  @Test(
    "closes with the code for the violation",
    arguments: [
      ([0x81, 0x80, 0, 0, 0, 0], 1003), ([0x82, 0x00], 1002), ([0xC2, 0x80, 0, 0, 0, 0], 1002),
      ([0x89, 0xFE, 0, 126, 0, 0, 0, 0], 1002),
      ([0x09, 0x80, 0, 0, 0, 0], 1002), ([0x82, 0xFF, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], 1009),
      ([0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1009), ([0x80, 0x80, 0, 0, 0, 0], 1002),
    ] as [([UInt8], Int)])
  func violations(_ bytes: [UInt8], _ code: Int) throws {
    let end = try End(isClient: false)
    try end.receive(bytes)
    #expect(try end.sent() == [0x88, 2, UInt8(code >> 8), UInt8(code & 0xFF)])
    end.channel.embeddedEventLoop.run()
    #expect(end.record.errors.count == 1 && end.record.errors.first?.code == .linkLost && !end.channel.isActive)
  }

  @Test("the peer's error code is in the message")
  func peersCode() throws {
    let end = try End(isClient: true)
    try end.receive([0x88, 5, 0x03, 0xF1] + Array("big".utf8))
    #expect(end.record.errors.map(\.message) == ["The peer closed the link with code 1009 (\"big\")."])
  }

  @Test("answers only the latest PING of a flood while nothing can be sent")
  func pingFlood() throws {
    let end = try End(isClient: false)
    end.channel.isWritable = false
    for number in UInt8(0)..<200 { try end.receive([0x89, 0x81, 0, 0, 0, 0, number]) }
    #expect(try end.sent() == [])
    end.channel.isWritable = true
    end.channel.pipeline.fireChannelWritabilityChanged()
    #expect(try end.sent() == [0x8A, 1, 199])
  }

  @Test("a client that has closed waits for the server to end the connection, at most a second")
  func clientEnd() throws {
    let end = try End(isClient: true)
    end.channel.close(mode: .output, promise: nil)
    #expect(try end.sent().prefix(2) == [0x88, 0x82])
    try end.receive([0x88, 2, 0x03, 0xE8])
    end.channel.embeddedEventLoop.run()
    #expect(end.record.hasInputEnded && end.channel.isActive)
    end.channel.embeddedEventLoop.advanceTime(by: .milliseconds(999))
    #expect(end.channel.isActive)
    end.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(!end.channel.isActive && end.record.errors.isEmpty)
  }

  @Test("a server that has closed ends the connection when the client closes, too")
  func serverEnd() throws {
    let end = try End(isClient: false)
    end.channel.close(mode: .output, promise: nil)
    _ = try end.sent()
    try end.receive([0x82, 0x81, 0, 0, 0, 0, 7])
    #expect(end.record.bytes == [7] && end.channel.isActive)
    try end.receive([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE9])
    end.channel.embeddedEventLoop.run()
    #expect(end.record.hasInputEnded && !end.channel.isActive && end.record.errors.isEmpty)
    #expect(try end.sent() == [])
  }

  @Test("a full close after one direction sends no second close frame", arguments: [true, false])
  func closeAfterOutput(_ hasInputEnded: Bool) throws {
    let end = try End(isClient: false)
    if hasInputEnded {
      try end.receive([0x88, 0x80, 0, 0, 0, 0])
    } else {
      end.channel.close(mode: .output, promise: nil)
      _ = try end.sent()
    }
    let closed = end.channel.eventLoop.makePromise(of: Void.self)
    var isClosed = false
    closed.futureResult.assumeIsolated().whenSuccess { isClosed = true }
    end.channel.close(promise: closed)
    #expect(try end.sent() == (hasInputEnded ? [0x88, 2, 0x03, 0xE8] : []))
    end.advance(1)
    end.channel.embeddedEventLoop.run()
    #expect(isClosed && !end.channel.isActive && end.record.errors.isEmpty)
  }

  @Test("bytes after the own close frame are refused, and a PING is not sent or answered")
  func afterOutput() throws {
    let end = try End(isClient: false)
    end.channel.close(mode: .output, promise: nil)
    _ = try end.sent()
    #expect(throws: ChannelError.outputClosed) { try end.channel.writeAndFlush(ByteBuffer(string: "a")).wait() }
    try end.receive([0x89, 0x80, 0, 0, 0, 0])
    end.advance(300)
    #expect(try end.sent() == [] && end.channel.isActive && end.record.errors.isEmpty)
    #expect(throws: ChannelError.operationUnsupported) { try end.channel.close(mode: .input).wait() }
  }

  @Test("a peer that has closed its direction is sent a PING, and need not answer")
  func pingAfterInput() throws {
    let end = try End(isClient: false)
    try end.receive([0x88, 0x80, 0, 0, 0, 0])
    end.advance(60)
    #expect(try end.sent().prefix(2) == [0x89, 0])
    end.advance(120)
    #expect(end.channel.isActive && end.record.errors.isEmpty)
  }

  @Test("any bytes are a sign of life after a PING, also a part of a frame")
  func partIsLife() throws {
    let end = try End(isClient: false)
    end.advance(30)
    #expect(try end.sent() == [0x89, 0])
    end.advance(19)
    try end.receive([0x82])
    end.advance(1)
    #expect(end.channel.isActive && end.record.errors.isEmpty)
    end.advance(9)
    #expect(try end.sent() == [])
    end.advance(1)
    #expect(try end.sent() == [0x89, 0])
  }

  @Test("a frame arrives although each of its bytes comes alone, and its owner has asked once")
  func bytewise() throws {
    let end = try End(isClient: false)
    for byte: UInt8 in [0x82, 0x83, 1, 2, 3, 4, 7 ^ 1, 8 ^ 2, 9 ^ 3] { try end.receive([byte]) }
    #expect(end.record.bytes == [7, 8, 9])
  }

  @Test("a connection that is cut while its owner does not read is closed when the owner reads")
  func cutUnread() throws {
    let end = try End(isClient: false)
    end.record.readsOn = false
    try end.receive([0x82, 0x81, 0, 0, 0, 0, 1])
    end.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    end.channel.embeddedEventLoop.run()
    #expect(end.record.bytes == [1] && end.record.errors.count == 1 && end.channel.isActive)
    end.channel.read()
    end.channel.embeddedEventLoop.run()
    #expect(!end.channel.isActive && end.record.errors.count == 1)
  }

  @Test("the end of a connection is seen although its owner reads no more after the peer's close frame")
  func readsOn() throws {
    let end = try End(isClient: false)
    let reads = ReadCounter()
    try end.channel.pipeline.syncOperations.addHandler(reads, position: .first)
    end.record.readsOn = false
    try end.receive([0x82, 0x81, 0, 0, 0, 0, 1])
    #expect(reads.count == 0)
    try end.receive([0x88, 0x80, 0, 0, 0, 0])
    #expect(end.record.hasInputEnded && reads.count == 1)
  }

  private final class ReadCounter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private(set) var count = 0

    func read(context: ChannelHandlerContext) {
      count += 1
      context.read()
    }
  }

  @Test("the codes of an ordinary end are no errors, and another code ends both directions")
  func codes() throws {
    for code: UInt8 in [0xE8, 0xE9] {
      let end = try End(isClient: false)
      try end.receive([0x88, 0x82, 0, 0, 0, 0, 0x03, code])
      #expect(end.record.hasInputEnded && end.record.errors.isEmpty && end.channel.isActive)
    }
    let end = try End(isClient: false)
    try end.receive([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xF3])
    #expect(try end.sent() == [0x88, 2, 0x03, 0xE8])
    end.channel.embeddedEventLoop.run()
    #expect(end.record.errors.map(\.message) == ["The peer closed the link with code 1011."] && !end.channel.isActive)
  }

  @Test("an error of the peer after the own close frame is not answered with another one")
  func errorAfterClose() throws {
    let end = try End(isClient: false)
    end.channel.close(mode: .output, promise: nil)
    _ = try end.sent()
    try end.receive([0x81, 0x80, 0, 0, 0, 0])
    end.channel.embeddedEventLoop.run()
    #expect(try end.sent() == [] && !end.channel.isActive && end.record.errors.count == 1)
  }

  @Test("a message shows at most 80 characters of the peer's reason")
  func longReason() throws {
    let end = try End(isClient: true)
    try end.receive([0x88, 102, 0x03, 0xF1] + [UInt8](repeating: UInt8(ascii: "x"), count: 100))
    let reason = String(repeating: "x", count: 80)
    #expect(end.record.errors.map(\.message) == ["The peer closed the link with code 1009 (\"\(reason)\")."])
  }

  @Test("a message of exactly 16 KiB is one frame, an empty write is none, and a large one completes once")
  func sizes() throws {
    let end = try End(isClient: false)
    try end.channel.writeAndFlush(ByteBuffer(repeating: 7, count: 16_384)).wait()
    #expect(try end.sent().prefix(4) == [0x82, 126, 0x40, 0x00])
    try end.channel.writeAndFlush(ByteBuffer()).wait()
    #expect(try end.sent() == [])
    try end.channel.writeAndFlush(ByteBuffer(repeating: 7, count: 16_385)).wait()
    #expect(try end.sent().suffix(3) == [0x82, 1, 7])
    // The most that is received.
    try end.receive([0x82, 0xFF, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 5, count: 65_536))
    #expect(end.record.bytes.count == 65_536 && end.record.errors.isEmpty)
  }

  @Test("a flood of close frames has one answer")
  func closeFlood() throws {
    let end = try End(isClient: false)
    for _ in 0..<100 { try end.receive([0x88, 0x80, 0, 0, 0, 0]) }
    #expect(try end.sent() == [])
    end.channel.close(mode: .output, promise: nil)
    #expect(try end.sent() == [0x88, 2, 0x03, 0xE8])
  }

  private struct Reset: Error {}

  @Test("errors and events of the connection below are passed on while the link is open")
  func below() throws {
    let end = try End(isClient: false)
    end.channel.pipeline.fireErrorCaught(Reset())
    end.channel.pipeline.fireUserInboundEventTriggered(0)
    end.channel.pipeline.fireChannelWritabilityChanged()
    #expect(end.record.otherErrors == 1 && end.record.otherEvents == 1 && end.record.writabilityChanges == 1)
    #expect(end.channel.isActive && end.record.errors.isEmpty)
    end.channel.close(promise: nil)
    // The owner has closed it: how the connection ends does not matter.
    end.channel.pipeline.fireErrorCaught(Reset())
    end.advance(1)
    end.channel.embeddedEventLoop.run()
    #expect(end.record.otherErrors == 1 && end.record.isInactive)
  }

  @Test("a link with bytes in both directions needs no PING")
  func busy() throws {
    let end = try End(isClient: false)
    for _ in 0..<3 {
      try end.channel.writeAndFlush(ByteBuffer(bytes: [1])).wait()
      try end.receive([0x82, 0x81, 0, 0, 0, 0, 1])
      #expect(try end.sent() == [0x82, 1, 1])
      end.advance(30)
      #expect(try end.sent() == [])
    }
    // The next half minute is quiet in one direction.
    try end.receive([0x82, 0x81, 0, 0, 0, 0, 1])
    end.advance(30)
    #expect(try end.sent() == [0x89, 0])
  }

  @Test("each frame of a client has another mask, and control frames have one, too")
  func masks() throws {
    let end = try End(isClient: true)
    var masks: Set<[UInt8]> = []
    for _ in 0..<8 {
      try end.channel.writeAndFlush(ByteBuffer(bytes: [0, 0])).wait()
      let sent = try end.sent()
      #expect(sent.prefix(2) == [0x82, 0x82] && sent.count == 8)
      masks.insert(Array(sent[2..<6]))
      // The content is zeros, so it shows the mask.
      #expect(sent.suffix(2) == sent[2..<4])
    }
    #expect(masks.count == 8)
    try end.receive([0x89, 0])
    #expect(try end.sent().prefix(2) == [0x8A, 0x80])
  }

  @Test("a link that has ended leaves no timer", arguments: ["close", "peer", "cut", "inactive", "ping"])
  func noTimer(_ way: String) throws {
    weak var link: WebSocketLink?
    let end = try End(isClient: way == "peer")
    link = try end.channel.pipeline.syncOperations.handler(type: WebSocketLink.self)
    #expect(link != nil)
    switch way {
    case "close":
      end.channel.close(promise: nil)
      try end.receive([0x88, 0x80, 0, 0, 0, 0])
    case "peer":
      // The client waits for the end of the connection, which comes before its timer.
      try end.receive([0x81, 0])
      end.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    case "cut": end.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    case "inactive":
      try end.channel.pipeline.syncOperations.context(handlerType: WebSocketLink.self).close(promise: nil)
    default:
      end.advance(30)
      try end.channel.pipeline.syncOperations.context(handlerType: WebSocketLink.self).close(promise: nil)
    }
    end.channel.embeddedEventLoop.run()
    #expect(link == nil && !end.channel.isActive)
  }

  @Test("a connection that is cut after the peer has closed its direction is no error")
  func cutAfterInput() throws {
    for isInactive in [true, false] {
      let end = try End(isClient: false)
      try end.receive([0x88, 0x80, 0, 0, 0, 0])
      if isInactive {
        try end.channel.pipeline.syncOperations.context(handlerType: WebSocketLink.self).close(promise: nil)
      } else {
        end.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
      }
      end.channel.embeddedEventLoop.run()
      #expect(!end.channel.isActive && end.record.errors.isEmpty && end.record.isInactive)
    }
  }

  @Test("a connection that ends without a word is an error, once")
  func inactive() throws {
    let end = try End(isClient: false)
    try end.channel.pipeline.syncOperations.context(handlerType: WebSocketLink.self).close(promise: nil)
    end.channel.embeddedEventLoop.run()
    #expect(end.record.errors.count == 1 && end.record.isInactive)
    #expect(end.record.errors.first?.message.contains("ended without a close frame") == true)
  }

  @Test("the end of a link is read although its owner reads no more")
  func readsEnd() throws {
    let end = try End(isClient: false)
    let reads = ReadCounter()
    try end.channel.pipeline.syncOperations.addHandler(reads, position: .first)
    end.record.readsOn = false
    try end.receive([0x82, 0x81, 0, 0, 0, 0, 1])
    end.channel.close(promise: nil)
    #expect(reads.count == 1 && end.channel.isActive)
  }

  @Test("a link that is closed again sends no second close frame, and a second full close does not wait")
  func closesAgain() throws {
    for (hasInputEnded, mode) in [(true, CloseMode.output), (true, .all), (false, .output), (false, .all)] {
      let end = try End(isClient: true)
      if hasInputEnded { try end.receive([0x88, 0]) }
      var successes = 0
      func close(_ mode: CloseMode) {
        let promise = end.channel.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenSuccess { successes += 1 }
        end.channel.close(mode: mode, promise: promise)
      }
      close(mode)
      #expect(try end.sent().prefix(2) == [0x88, 0x82] && end.channel.isActive)
      close(.output)
      #expect(try end.sent() == [] && end.channel.isActive && successes == (mode == .output ? 2 : 1))
      #expect(throws: ChannelError.outputClosed) { try end.channel.writeAndFlush(ByteBuffer(bytes: [1])).wait() }
      if mode == .output, !hasInputEnded {
        end.channel.close(promise: nil)
        #expect(try end.sent() == [] && end.channel.isActive)
      }
      close(.all)
      end.channel.embeddedEventLoop.run()
      #expect(!end.channel.isActive && successes == 3 && end.record.errors.isEmpty, "\(hasInputEnded) \(mode)")
    }
  }
}
