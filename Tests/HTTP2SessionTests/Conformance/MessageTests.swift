import BywayHTTP2Session
import BywayHTTPWire
import Testing

/// RFC 9113 §8.
@Suite struct MessageTests {
  @Test("section 8: malformed and well-formed messages", arguments: cases)
  func messages(_ conformance: ConformanceCase) {
    conformance.check()
  }

  private static let malformed = ConformanceCase.Verdict.streamError(1, [.protocolError])

  private static func head(_ fields: (String, String)...) -> [RawFrame] { [.headers(1, HPACK.block(fields))] }
  private static func get(_ fields: (String, String)...) -> [RawFrame] {
    [.headers(1, HPACK.get + HPACK.block(fields))]
  }

  private static let trailers = RawFrame.headers(1, HPACK.block([("x-sum", "1")]))

  static let cases: [ConformanceCase] = [
    .init(
      "8.1 a second head that does not end the stream", [.post(1), .headers(1, HPACK.block([("x", "1")]), flags: 4)],
      malformed),
    .init("8.1 trailers", [.post(1), .data(1, [1]), trailers], .answered(1)),
    .init(
      "8.1 DATA after trailers", [.post(1), trailers, .data(1, [1])], .streamError(1, [.streamClosed, .protocolError])),
    .init(
      "8.1.1 a content length above the body", [.post(1, [("content-length", "2")]), .data(1, [1], flags: 1)], malformed
    ),
    .init(
      "8.1.1 a content length below the body",
      [.post(1, [("content-length", "1")]), .data(1, [1]), .data(1, [1], flags: 1)], malformed),
    .init("8.1.1 a content length without a body", get(("content-length", "1")), malformed),
    .init("8.1.1 an invalid content length", [.post(1, [("content-length", "1x")])], malformed),
    .init("8.1.1 two content lengths", [.post(1, [("content-length", "1"), ("content-length", "2")])], malformed),
    .init(
      "8.1.1 a matching content length", [.post(1, [("content-length", "2")]), .data(1, [1]), .data(1, [1], flags: 1)],
      .answered(1)),

    .init("8.2.1 an upper-case name", get(("X-Test", "1")), malformed),
    .init("8.2.1 a name with a space", get(("x test", "1")), malformed),
    .init("8.2.1 an empty name", get(("", "1")), malformed),
    .init("8.2.1 a line feed in a value", get(("x", "a\nb")), malformed),
    .init("8.2.1 a zero byte in a value", get(("x", "a\0b")), malformed),
    .init("8.2.1 a value that begins with a space", get(("x", " a")), malformed),
    .init("8.2.1 a value that ends with a tab", get(("x", "a\t")), malformed),
    .init("8.2.2 connection", get(("connection", "keep-alive")), malformed),
    .init("8.2.2 keep-alive", get(("keep-alive", "1")), malformed),
    .init("8.2.2 proxy-connection", get(("proxy-connection", "close")), malformed),
    .init("8.2.2 transfer-encoding", get(("transfer-encoding", "chunked")), malformed),
    .init("8.2.2 upgrade", get(("upgrade", "websocket")), malformed),
    .init("8.2.2 te with anything but trailers", get(("te", "trailers, deflate;q=0.5")), malformed),
    .init("8.2.2 te: trailers", get(("te", "trailers")), .answered(1)),

    .init("8.3 an unknown pseudo-header field", get((":test", "1")), malformed),
    .init("8.3 a response's pseudo-header field", get((":status", "200")), malformed),
    .init(
      "8.3 a pseudo-header field among trailers", [.post(1), .headers(1, HPACK.block([(":method", "GET")]))], malformed),
    .init(
      "8.3 a pseudo-header field after a regular one",
      head((":method", "GET"), (":scheme", "http"), ("x", "1"), (":path", "/")), malformed),
    .init("8.3.1 no :method", head((":scheme", "http"), (":path", "/")), malformed),
    .init("8.3.1 no :scheme", head((":method", "GET"), (":path", "/")), malformed),
    .init("8.3.1 no :path", head((":method", "GET"), (":scheme", "http")), malformed),
    .init("8.3.1 an empty :path", head((":method", "GET"), (":scheme", "http"), (":path", "")), malformed),
    .init("8.3.1 :method twice", get((":method", "GET")), malformed),
    .init("8.3.1 :scheme twice", get((":scheme", "http")), malformed),
    .init("8.3.1 :path twice", get((":path", "/")), malformed),
    .init(
      "8.3.1 host instead of :authority", head((":method", "GET"), (":scheme", "http"), (":path", "/"), ("host", "h")),
      .answered(1)),
    .init(
      "8.3.1 OPTIONS *", head((":method", "OPTIONS"), (":scheme", "http"), (":path", "*"), (":authority", "h")),
      .answered(1)),
    .init(
      "8.3.1 another method for *", head((":method", "GET"), (":scheme", "http"), (":path", "*"), (":authority", "h")),
      malformed),

    .init("8.5 CONNECT", head((":method", "CONNECT"), (":authority", "h:80")), .answered(1)),
    .init("8.5 CONNECT with a path", head((":method", "CONNECT"), (":authority", "h:80"), (":path", "/")), malformed),
    .init("8.5 CONNECT without an authority", head((":method", "CONNECT")), malformed),
    .init(
      "RFC 8441 4: extended CONNECT",
      head(
        (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "http"), (":path", "/"), (":authority", "h")),
      .answered(1)),
    .init(
      "RFC 8441 4: extended CONNECT without a path",
      head((":method", "CONNECT"), (":protocol", "websocket"), (":authority", "h")), malformed),
    .init("RFC 8441 4: :protocol on another method", get((":protocol", "websocket")), malformed),
  ]

  @Test("a malformed request does not reach the owner") func unseen() {
    let client = RawClient()
    client.send(.headers(1, HPACK.get + HPACK.block([("connection", "close")])))
    #expect(client.events.heads.isEmpty)
    #expect(client.events.closed(1) == nil)
  }

  @Test("8.2.3 several Cookie fields arrive as sent") func cookies() {
    let client = RawClient()
    client.send(.headers(1, HPACK.get + HPACK.block([("cookie", "a=1"), ("cookie", "b=2")])))
    #expect(
      client.events.contains(.head(1, .get("/", ("cookie", "a=1"), ("cookie", "b=2")).reordered, endStream: true)))
  }
}

extension FieldSection {
  /// The fields in the order of `HPACK.request`.
  fileprivate var reordered: FieldSection {
    var section: FieldSection = [":method": "GET", ":scheme": "http", ":path": "/", ":authority": "device"]
    for line in lines where !line.field.isPseudo { section.append(line, of: self) }
    return section
  }
}
