import Byway
import BywayHTTPWire
import Logging
import NIOCore
import NIOEmbedded
import TestWire
import Testing

/// Reads of a connection, observed at its channel, without a socket and its buffers.
@Suite struct HTTP1PipelineTests {
  private final class ReadCounter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    var count = 0

    func read(context: ChannelHandlerContext) {
      count += 1
      context.read()
    }
  }

  private let channel = EmbeddedChannel()
  private let reads = ReadCounter()
  private let handler = RecordingHandler()
  private let connection: HTTP1ServerConnection

  init() throws {
    try channel.pipeline.syncOperations.addHandler(reads)
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    connection = HTTP1ServerConnection.start(
      on: channel, handler: handler, configuration: ServerConfiguration(hop: "hop", logger: logger))
    reads.count = 0
  }

  private func receive(_ text: String) throws {
    try channel.writeInbound(ByteBuffer(string: text))
  }

  @Test("a pipelined request is held back until the previous one is answered")
  func heldBack() throws {
    try receive("GET /0 HTTP/1.1\r\nHost: here\r\n\r\nGET /1 HTTP/1.1\r\nHost: h")
    #expect(handler.sinks.count == 1)
    #expect(reads.count == 0)
    handler.sinks[0].head([":status": "204"], isComplete: true)
    channel.embeddedEventLoop.run()
    #expect(reads.count == 1)
    try receive("ere\r\n\r\n")
    #expect(handler.sinks.count == 2)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test("a connection without pipelined requests keeps reading, so that it detects the client's close")
  func notHeldBack() throws {
    try receive("GET /0 HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(handler.sinks.count == 1)
    #expect(reads.count == 1)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  /// Sends a response longer than the limit beyond which the next request waits.
  private func answer(_ sink: any ResponseSink) {
    sink.head([":status": "200"], isComplete: false)
    sink.write(ByteBuffer(repeating: 7, count: 20_000))
    sink.finish(trailers: nil)
  }

  @Test("the next request begins only when the client has read the previous response")
  func unread() throws {
    try receive(String(repeating: "GET / HTTP/1.1\r\nHost: here\r\n\r\n", count: 3))
    channel.isWritable = false
    answer(handler.sinks[0])
    channel.embeddedEventLoop.run()
    #expect(handler.sinks.count == 1)
    #expect(reads.count == 0)
    channel.isWritable = true
    channel.pipeline.fireChannelWritabilityChanged()
    #expect(handler.sinks.count == 2)
    handler.sinks[1].head([":status": "204"], isComplete: true)
    channel.embeddedEventLoop.run()
    #expect(handler.sinks.count == 3)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test("a client that has ended its direction still gets its responses")
  func unreadToTheEnd() throws {
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
    try receive(String(repeating: "GET / HTTP/1.1\r\nHost: here\r\n\r\n", count: 2))
    channel.isWritable = false
    channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    answer(handler.sinks[0])
    channel.embeddedEventLoop.run()
    #expect(channel.isActive && handler.sinks.count == 1)
    channel.isWritable = true
    channel.pipeline.fireChannelWritabilityChanged()
    #expect(handler.sinks.count == 2)
    handler.sinks[1].head([":status": "204"], isComplete: true)
    channel.embeddedEventLoop.run()
    #expect(!channel.isActive)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test("reading of an unconsumed body stops at a limit, and resumes at half of it")
  func unconsumed() throws {
    try receive("PUT / HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000\r\n\r\n")
    let chunk = String(repeating: "a", count: 128 * 1024)
    try receive(chunk)
    #expect(reads.count == 2)
    try receive(chunk)
    #expect(reads.count == 2)
    handler.sinks[0].didConsumeRequest(128 * 1024)
    #expect(reads.count == 2)
    handler.sinks[0].didConsumeRequest(1)
    #expect(reads.count == 3)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }
}
