import BywayHTTP1Session
import BywayHTTPWire
import HTTP1Checks
import NIOCore
import Testing

@Suite("Response encoder")
struct ResponseEncoderTests {
  private func encode(
    _ fields: FieldSection, _ context: ResponseEncoder.Context = .init(), hasBody: Bool = false,
    upgrade: String? = nil
  ) throws -> (text: String, encoder: ResponseEncoder) {
    var encoder = ResponseEncoder()
    var output = ByteBuffer()
    try encoder.writeHead(fields, context, hasBody: hasBody, upgrade: upgrade, into: &output)
    return (String(buffer: output), encoder)
  }

  @Test(
    "a response body is framed by its length, the request and the client's version",
    arguments: [
      (.init(), "200", nil, true, BodyFraming.chunked, "Transfer-Encoding: chunked\r\n"),
      (.init(), "200", nil, false, .length(0), "Content-Length: 0\r\n"),
      (.init(), "200", "3", true, .length(3), "Content-Length: 3\r\n"),
      (.init(), "204", nil, false, .none, ""),
      (.init(), "204", "0", true, .none, ""),
      (.init(), "304", "9", false, .none, "Content-Length: 9\r\n"),
      (.init(request: .head), "200", "9", false, .none, "Content-Length: 9\r\n"),
      (.init(request: .head), "200", nil, false, .none, ""),
      (.init(request: .connect), "200", "9", true, .tunnel, ""),
      (.init(request: .connect), "403", "9", true, .length(9), "Content-Length: 9\r\n"),
      (.init(keepAlive: false), "200", "3", true, .length(3), "Connection: close\r\nContent-Length: 3\r\n"),
      (.init(version: .v1_0), "200", "3", true, .length(3), "Connection: keep-alive\r\nContent-Length: 3\r\n"),
      (.init(version: .v1_0), "200", nil, true, .untilClose, "Connection: close\r\n"),
    ] as [(ResponseEncoder.Context, String, String?, Bool, BodyFraming, String)])
  func framing(
    _ context: ResponseEncoder.Context, _ status: String, _ length: String?, _ hasBody: Bool, _ framing: BodyFraming,
    _ lines: String
  ) throws {
    var fields: FieldSection = [":status": status]
    if let length { fields.append(.contentLength, length) }
    let (text, encoder) = try encode(fields, context, hasBody: hasBody)
    #expect(encoder.framing == framing)
    #expect(encoder.keepAlive == (context.keepAlive && framing != .untilClose && framing != .tunnel))
    let afterStatusLine = text.drop { $0 != "\r\n" }.dropFirst()
    #expect(afterStatusLine == "\(lines)\r\n")
  }

  @Test("the response encoder writes a reason phrase, or none for unknown status codes")
  func reasons() throws {
    #expect(try encode([":status": "404"]).text.hasPrefix("HTTP/1.1 404 Not Found\r\n"))
    #expect(try encode([":status": "299"]).text.hasPrefix("HTTP/1.1 299 \r\n"))
  }

  @Test("an upgrade is granted only if it was requested")
  func upgrade() throws {
    let (text, encoder) = try encode(
      [":status": "101", "sec-websocket-accept": "x"], .init(request: .webSocket), upgrade: "websocket")
    #expect(
      text == "HTTP/1.1 101 Switching Protocols\r\nsec-websocket-accept: x\r\nUpgrade: websocket\r\n"
        + "Connection: upgrade\r\n\r\n")
    #expect(encoder.framing == .tunnel)
    #expect(throws: HTTP1Failure.self) { try encode([":status": "101"], upgrade: "websocket") }
    #expect(throws: HTTP1Failure.self) { try encode([":status": "101"], .init(request: .upgrade)) }
    #expect(throws: HTTP1Failure.self) { try encode([":status": "200"], upgrade: "websocket") }
    #expect(throws: HTTP1Failure.self) {
      try encode([":status": "101"], .init(request: .upgrade), upgrade: "a\r\nX-Smuggled: b")
    }
  }

  @Test("informational responses are written, but not to HTTP/1.0")
  func informational() throws {
    var encoder = ResponseEncoder()
    var output = ByteBuffer()
    let hints: FieldSection = [":status": "103", "link": "</a>", "connection": "x"]
    try encoder.writeInformational(hints, .init(version: .v1_0), into: &output)
    #expect(output.readableBytes == 0)
    try encoder.writeInformational(hints, .init(), into: &output)
    #expect(String(buffer: output) == "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n")
    for status in ["101", "200", "10"] {
      #expect(throws: HTTP1Failure.self) {
        try encoder.writeInformational([":status": status], .init(), into: &output)
      }
    }
  }

  @Test("every Set-Cookie stays on its own line")
  func setCookie() throws {
    let (text, _) = try encode([":status": "200", "set-cookie": "a", "set-cookie": "b"])
    #expect(text.contains("set-cookie: a\r\nset-cookie: b\r\n"))
  }

  @Test("the response encoder writes bytes beyond ASCII, and trims blanks at the ends of values")
  func values() throws {
    var fields: FieldSection = [":status": "200", "y": " \tz "]
    bytes("caf\u{E9}").withUnsafeBytes { value in
      Array("x".utf8).withUnsafeBytes { fields.append(name: $0, value: value) }
    }
    var encoder = ResponseEncoder()
    var output = ByteBuffer()
    try encoder.writeHead(fields, .init(), hasBody: false, into: &output)
    let expected = bytes("HTTP/1.1 200 OK\r\ny: z\r\nx: caf\u{E9}\r\nContent-Length: 0\r\n\r\n")
    #expect(Array(output.readableBytesView) == expected)
  }

  @Test(
    "response fields that would be parsed differently are refused, and nothing is written",
    arguments: [
      [":status": "200", "x": "a\r\n\r\nHTTP/1.1 200 OK"], [":status": "200", "x\n": "a"],
      [":status": "200", "x": "\u{0}"],
      [":status": "20"], [":status": "2000"], [":status": "099"], [":status": "100"], ["x": "y"],
      [":status": "200", "content-length": "1"], [":status": "200", "content-length": "-1"],
    ] as [FieldSection])
  func injection(_ fields: FieldSection) {
    var encoder = ResponseEncoder()
    var output = ByteBuffer(string: "before")
    let failure = #expect(throws: HTTP1Failure.self) {
      try encoder.writeHead(fields, .init(), hasBody: false, into: &output)
    }
    #expect(failure?.code == .unencodable)
    #expect(String(buffer: output) == "before")
  }

  @Test("the response encoder writes the framing around bytes that the caller sends itself")
  func withoutCopy() throws {
    var (_, encoder) = try encode([":status": "200"], hasBody: true)
    var before = ByteBuffer()
    var after = ByteBuffer()
    try encoder.writeBodyPrefix(count: 300, into: &before)
    encoder.writeBodySuffix(into: &after)
    #expect(String(buffer: before) == "12c\r\n")
    #expect(String(buffer: after) == "\r\n")
  }

  @Test("a response body is refused where none is allowed")
  func noBody() throws {
    for (fields, context) in [
      ([":status": "204"], .init()), ([":status": "200"], .init(request: .head)), ([":status": "304"], .init()),
    ] as [(FieldSection, ResponseEncoder.Context)] {
      var (_, encoder) = try encode(fields, context, hasBody: true)
      var output = ByteBuffer()
      #expect(throws: HTTP1Failure.self) { try encoder.writeBody(ByteBuffer(string: "x"), into: &output) }
      try encoder.writeEnd(trailers: nil, into: &output)
      #expect(output.readableBytes == 0)
    }
  }
}
