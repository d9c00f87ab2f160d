import BywayHTTPWire
import NIOCore
import NIOEmbedded
import TestWire
import Testing

@testable import Byway

/// A connection from its first bytes on, in virtual time.
@Suite struct IngressConnectionTests {
  private let channel = EmbeddedChannel()
  private let handler = RecordingHandler()

  private func serve(at place: IngressConnection.Place) throws -> IngressConnection {
    let connection = try IngressConnection.start(
      on: channel, at: place, handler: handler, configuration: ServerConfiguration.test)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
    return connection
  }

  private func receive(_ text: String) throws {
    try channel.writeInbound(ByteBuffer(string: text))
    channel.embeddedEventLoop.run()
  }

  private func sent() throws -> String {
    var text = ""
    while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
    return text
  }

  private static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
  private static let settings = "\0\0\0\u{4}\0\0\0\0\0"

  @Test(
    "HTTP/1.1 and HTTP/2 are served on a link and on a port, in one piece or byte by byte",
    arguments: [IngressConnection.Place.link, .port], [true, false])
  func versions(_ place: IngressConnection.Place, isWhole: Bool) throws {
    for isHTTP2 in [false, true] {
      let test = IngressConnectionTests()
      _ = try test.serve(at: place)
      let text = isHTTP2 ? Self.preface + Self.settings : "PROPFIND /0 HTTP/1.1\r\nHost: here\r\n\r\n"
      for piece in isWhole ? [text] : text.map(String.init) { try test.receive(piece) }
      if isHTTP2 {
        // SETTINGS comes first, and then the acknowledgement of the client's (RFC 9113 §3.4, §6.5).
        let frames = Array(try test.sent().utf8)
        #expect(frames.count > 9 && frames[3] == 4 && frames[4] == 0)
      } else {
        #expect(test.handler.heads.map { $0.fields.value(of: .path) } == ["/0"])
        test.handler.sinks.first?.head([":status": "204"], isComplete: true)
        test.channel.embeddedEventLoop.run()
        #expect(try test.sent().hasPrefix("HTTP/1.1 204 "))
        try test.receive("GET /1 HTTP/1.1\r\nHost: here\r\n\r\n")
        #expect(test.handler.heads.count == 2)
      }
      _ = try? test.channel.finish(acceptAlreadyClosed: true)
    }
  }

  @Test("a gateway sends nothing before its client")
  func quiet() throws {
    _ = try serve(at: .link)
    channel.embeddedEventLoop.advanceTime(by: .seconds(29))
    #expect(try sent() == "")
    #expect(channel.isActive)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test(
    "bytes of neither version end a link with an error that quotes them",
    arguments: ["HTTP/1.1 400 Bad Request\r\n", "device login: ", "SSH-2.0-OpenSSH_9.2\r\n"])
  func neitherOnLink(_ text: String) throws {
    let connection = try serve(at: .link)
    try receive(text)
    channel.embeddedEventLoop.run()
    #expect(handler.heads.isEmpty)
    guard case .failed(let reason) = connection.farewell else {
      Issue.record("\(String(describing: connection.farewell))")
      return
    }
    #expect(reason.contains(text.prefix(10)), "\(reason)")
    #expect(!channel.isActive)
    _ = try? channel.finish(acceptAlreadyClosed: true)
  }

  @Test("bytes of neither version get a response with status 400 at a port")
  func neitherAtPort() throws {
    let connection = try serve(at: .port)
    try receive("device login: \r\n\r\n")
    #expect(try sent().hasPrefix("HTTP/1.1 400 "))
    #expect(connection.farewell == nil)
    _ = try? channel.finish(acceptAlreadyClosed: true)
  }

  @Test(
    "a link whose far end sends no request within 30 s closes, and says so", arguments: ["", "PRI * HTTP", "GE"])
  func silentLink(_ text: String) throws {
    let connection = try serve(at: .link)
    try receive(text)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(29_999))
    #expect(channel.isActive && connection.farewell == nil)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(!channel.isActive)
    #expect(connection.farewell == .failed("The far end sent no request within 30 s."))
    _ = try? channel.finish(acceptAlreadyClosed: true)
  }

  @Test("the beginning of a method at a port starts the time limit of a request's head")
  func begunAtPort() throws {
    let connection = try serve(at: .port)
    try receive("GE")
    let head = ServerConfiguration.test.timeouts.head
    channel.embeddedEventLoop.advanceTime(by: head + .seconds(1))
    #expect(try sent().hasPrefix("HTTP/1.1 408 "))
    #expect(connection.farewell == nil)
    _ = try? channel.finish(acceptAlreadyClosed: true)
  }

  @Test("a far end that ends its direction within the preface ends a link with an error")
  func endedLink() throws {
    let connection = try serve(at: .link)
    try receive("PRI * HT")
    channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    channel.embeddedEventLoop.run()
    guard case .failed(let reason) = connection.farewell else {
      Issue.record("\(String(describing: connection.farewell))")
      return
    }
    #expect(reason.contains("ended the link"), "\(reason)")
    _ = try? channel.finish(acceptAlreadyClosed: true)
  }

  @Test("a link that fails before its first byte closes, and keeps the reason")
  func failedLink() throws {
    let connection = try serve(at: .link)
    channel.pipeline.fireErrorCaught(BywayError(.linkLost, "The certificate was refused."))
    channel.embeddedEventLoop.run()
    #expect(!channel.isActive)
    guard case .failed(let reason) = connection.farewell else {
      Issue.record("\(String(describing: connection.farewell))")
      return
    }
    #expect(reason.contains("The certificate was refused."))
    _ = try? channel.finish(acceptAlreadyClosed: true)
  }

  @Test("no timer is left after the version is known", arguments: [IngressConnection.Place.link, .port])
  func timer(_ place: IngressConnection.Place) throws {
    let connection = try serve(at: place)
    try receive("GET /0 HTTP/1.1\r\nHost: here\r\n\r\n")
    channel.embeddedEventLoop.advanceTime(by: .hours(1))
    #expect(channel.isActive)
    #expect(connection.runningExchanges == 1)
    _ = try? channel.finish(acceptAlreadyClosed: true)
  }

  @Test("a connection without a request closes a second after it was asked to drain, and serves a request until then")
  func drain() throws {
    let connection = try serve(at: .link)
    connection.drain()
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(900))
    #expect(channel.isActive)
    try receive("GET /0 HTTP/1.1\r\nHost: here\r\n\r\n")
    channel.embeddedEventLoop.advanceTime(by: .seconds(5))
    #expect(channel.isActive && connection.runningExchanges == 1)
    handler.sinks.first?.head([":status": "204"], isComplete: true)
    channel.embeddedEventLoop.run()
    let answer = try sent().lowercased()
    #expect(answer.contains("connection: close"), "\(answer)")
    _ = try? channel.finish(acceptAlreadyClosed: true)

    let other = IngressConnectionTests()
    try other.serve(at: .link).drain()
    other.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    #expect(!other.channel.isActive)
    _ = try? other.channel.finish(acceptAlreadyClosed: true)
  }
}
