import BywayHTTP1Session
import BywayHTTPWire
import NIOCore
import Testing

@Suite("Request encoder")
struct RequestEncoderTests {
  private func encode(
    _ fields: FieldSection, _ options: RequestEncoder.Options = .init()
  ) throws -> (text: String, framing: BodyFraming) {
    var encoder = RequestEncoder()
    var output = ByteBuffer()
    try encoder.writeHead(fields, options, into: &output)
    return (String(buffer: output), encoder.framing)
  }

  @Test("the request encoder capitalizes the names in head, Connection and trailers for servers that compare case")
  func capitals() throws {
    var encoder = RequestEncoder(capitalizesFieldNames: true)
    var output = ByteBuffer(string: "before: x\r\nstays: y\r\n")
    output.moveReaderIndex(forwardBy: 3)
    try encoder.writeHead(
      [
        ":method": "POST", ":path": "/x-path:a", ":authority": "h", "x-serial": "a-b: c-d", "www-authenticate": "e",
        "cookie": "k=l", "expect": "",
      ], .init(hasBody: true, keepAlive: false, acceptsTrailers: true), into: &output)
    try encoder.writeBody(ByteBuffer(string: "\nbody-x: y\n"), into: &output)
    try encoder.writeEnd(trailers: ["x-checksum": "z-z", "etag": "1"], into: &output)
    #expect(
      String(buffer: output)
        == "ore: x\r\nstays: y\r\nPOST /x-path:a HTTP/1.1\r\nHost: h\r\nX-Serial: a-b: c-d\r\nWWW-Authenticate: e\r\n"
        + "Expect: \r\nCookie: k=l\r\nConnection: close\r\nTE: trailers\r\nConnection: TE\r\n"
        + "Transfer-Encoding: chunked\r\n\r\nb\r\n\nbody-x: y\n\r\n0\r\nX-Checksum: z-z\r\nETag: 1\r\n\r\n")
  }

  @Test("if a head is invalid, the request encoder writes nothing, also with capitalized names")
  func capitalsOfNothing() throws {
    var encoder = RequestEncoder(capitalizesFieldNames: true)
    var output = ByteBuffer(string: "x: y\r\n")
    #expect(throws: HTTP1Failure.self) {
      try encoder.writeHead([":method": "GET", ":path": "/", ":authority": "h", "a": "b\n"], into: &output)
    }
    #expect(String(buffer: output) == "x: y\r\n")
  }

  @Test("the request encoder writes a head that is longer than its fields, because a proxy gets the host twice")
  func longHost() throws {
    let host = Array(repeating: String(repeating: "a", count: 62), count: 4).joined(separator: ".")
    let head = try encode(
      [":method": "GET", ":scheme": "http", ":path": "/", ":authority": host], .init(targetForm: .absolute))
    #expect(head.text == "GET http://\(host)/ HTTP/1.1\r\nHost: \(host)\r\n\r\n")
  }

  private static let get: FieldSection = [
    ":path": "/a?b", ":authority": "h:8080", ":scheme": "http", ":method": "GET", "accept": "*/*",
  ]

  @Test("the request encoder writes the target in the form that the next hop requires")
  func targetForms() throws {
    #expect(try encode(Self.get).text == "GET /a?b HTTP/1.1\r\nHost: h:8080\r\naccept: */*\r\n\r\n")
    #expect(
      try encode(Self.get, .init(targetForm: .absolute)).text
        == "GET http://h:8080/a?b HTTP/1.1\r\nHost: h:8080\r\naccept: */*\r\n\r\n")
    let connect = try encode([":method": "CONNECT", ":authority": "h:443"])
    #expect(connect.text == "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n")
    #expect(connect.framing == .tunnel)
    let options: FieldSection = [":method": "OPTIONS", ":scheme": "http", ":authority": "h", ":path": "*"]
    #expect(try encode(options).text.hasPrefix("OPTIONS * HTTP/1.1\r\n"))
    #expect(try encode(options, .init(targetForm: .absolute)).text.hasPrefix("OPTIONS http://h HTTP/1.1\r\n"))
  }

  @Test("Host comes from the authority or else from the field, and a request without either is refused")
  func host() throws {
    #expect(
      try encode([":method": "GET", ":path": "/", ":authority": "a", "host": "b"]).text
        == "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(try encode([":method": "GET", ":path": "/", "host": "b"]).text == "GET / HTTP/1.1\r\nHost: b\r\n\r\n")
    #expect(throws: HTTP1Failure.self) { try encode([":method": "GET", ":path": "/"]) }
  }

  @Test(
    "a request body is framed by its known length, or in chunks",
    arguments: [
      ("GET", nil, false, BodyFraming.none, ""),
      ("POST", nil, false, .length(0), "Content-Length: 0\r\n"),
      ("PUT", nil, false, .length(0), "Content-Length: 0\r\n"),
      ("DELETE", "0", false, .length(0), "Content-Length: 0\r\n"),
      ("POST", "3", true, .length(3), "Content-Length: 3\r\n"),
      ("POST", "3, 3", true, .length(3), "Content-Length: 3\r\n"),
      ("POST", nil, true, .chunked, "Transfer-Encoding: chunked\r\n"),
      ("GET", nil, true, .chunked, "Transfer-Encoding: chunked\r\n"),
    ] as [(String, String?, Bool, BodyFraming, String)])
  func framing(_ method: String, _ length: String?, _ hasBody: Bool, _ framing: BodyFraming, _ line: String) throws {
    var fields: FieldSection = [":method": method, ":path": "/", ":authority": "h"]
    if let length { fields.append(.contentLength, length) }
    let request = try encode(fields, .init(hasBody: hasBody))
    #expect(request.framing == framing)
    #expect(request.text == "\(method) / HTTP/1.1\r\nHost: h\r\n\(line)\r\n")
  }

  @Test("an extended CONNECT becomes an HTTP/1.1 upgrade")
  func upgrade() throws {
    let request = try encode([
      ":method": "CONNECT", ":protocol": "websocket", ":scheme": "http", ":authority": "h", ":path": "/chat",
      "sec-websocket-key": "k", "sec-websocket-version": "13",
    ])
    #expect(
      request.text == "GET /chat HTTP/1.1\r\nHost: h\r\nsec-websocket-key: k\r\nsec-websocket-version: 13\r\n"
        + "Upgrade: websocket\r\nConnection: upgrade\r\n\r\n")
    #expect(request.framing == .tunnel)
  }

  @Test("the request encoder writes the fields that the connection itself requires")
  func connectionFields() throws {
    let options = RequestEncoder.Options(keepAlive: false, acceptsTrailers: true)
    #expect(
      try encode([":method": "GET", ":path": "/", ":authority": "h"], options).text
        == "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTE: trailers\r\nConnection: TE\r\n\r\n")
  }

  @Test("the request encoder removes hop-by-hop fields, including those listed in Connection")
  func hopByHop() throws {
    let fields: FieldSection = [
      ":method": "GET", ":path": "/", ":authority": "h", "connection": "x-hop, close", "x-hop": "1",
      "keep-alive": "1", "te": "gzip", "transfer-encoding": "chunked", "upgrade": "h2c", "trailer": "x",
      "proxy-connection": "x", "byway-target-form": "absolute", "proxy-authorization": "secret", "x": "y",
      ":scheme": "http",
    ]
    #expect(try encode(fields).text == "GET / HTTP/1.1\r\nHost: h\r\nx: y\r\n\r\n")
    #expect(
      try encode(fields, .init(targetForm: .absolute)).text.contains("proxy-authorization: secret\r\n"),
      "that one is for a proxy")
  }

  @Test("the request encoder joins the lines of a Cookie field")
  func cookie() throws {
    let fields: FieldSection = [
      ":method": "GET", ":path": "/", ":authority": "h", "cookie": "a=1", "x": "y", "cookie": "b=2",
    ]
    #expect(try encode(fields).text == "GET / HTTP/1.1\r\nHost: h\r\nx: y\r\ncookie: a=1; b=2\r\n\r\n")
  }

  @Test(
    "fields that would be parsed differently are refused, and nothing is written",
    arguments: [
      ["x": "a\r\nHost: evil"], ["x": "a\nb"], ["x": "a\u{0}"], ["x\r\ny": "a"], ["x y": "a"], ["": "a"], ["x:": "a"],
      ["cookie": "a\r\nb: c"], ["\u{E9}": "a"], [":path": "/ HTTP/1.1\r\nX: y"], [":path": "/a b"], [":path": ""],
      [":path": "a"], [":path": "*"], [":path": "/#"], [":method": "G T"], [":method": ""], [":method": "GET\r\n"],
      [":authority": "h\r\nX: y"], [":authority": ""], [":authority": "u@h"], [":authority": "h/"],
      ["content-length": "1"], ["content-length": "x"], ["content-length": "0, 1"],
      [":protocol": "a b", ":method": "CONNECT"],
    ] as [[String: String]])
  func injection(_ changes: [String: String]) {
    var fields: FieldSection = [:]
    let base = [":method": "GET", ":path": "/", ":authority": "h", ":scheme": "http"]
    for (name, value) in base.merging(changes, uniquingKeysWith: { $1 }) { fields.append(name: name, value: value) }
    var encoder = RequestEncoder()
    var output = ByteBuffer(string: "before")
    let failure = #expect(throws: HTTP1Failure.self) { try encoder.writeHead(fields, into: &output) }
    #expect(failure?.code == .unencodable)
    #expect(String(buffer: output) == "before")
  }

  @Test("a target that the form cannot express is refused")
  func impossibleTargets() {
    #expect(throws: HTTP1Failure.self) { try encode(Self.get, .init(targetForm: .authority)) }
    #expect(throws: HTTP1Failure.self) { try encode([":method": "CONNECT", ":authority": "h"]) }
    #expect(throws: HTTP1Failure.self) { try encode([":method": "CONNECT"]) }
    #expect(throws: HTTP1Failure.self) {
      try encode([":method": "GET", ":path": "/", ":authority": "h"], .init(targetForm: .absolute))
    }
  }

  @Test("a body longer or shorter than its declared length is refused")
  func bodyLength() throws {
    var encoder = RequestEncoder()
    var output = ByteBuffer()
    let fields: FieldSection = [":method": "PUT", ":path": "/", ":authority": "h", "content-length": "3"]
    try encoder.writeHead(fields, .init(hasBody: true), into: &output)
    output.clear()
    try encoder.writeBody(ByteBuffer(string: "ab"), into: &output)
    #expect(throws: HTTP1Failure.self) { try encoder.writeEnd(trailers: nil, into: &output) }
    #expect(throws: HTTP1Failure.self) { try encoder.writeBody(ByteBuffer(string: "cd"), into: &output) }
    try encoder.writeBody(ByteBuffer(string: "c"), into: &output)
    try encoder.writeEnd(trailers: ["x": "y"], into: &output)
    #expect(String(buffer: output) == "abc", "a body with a length has no trailers")
    #expect(throws: HTTP1Failure.self) { try encoder.writeBody(ByteBuffer(string: "d"), into: &output) }
  }

  @Test("the request encoder writes chunks and trailers, and no empty chunk within the body")
  func chunks() throws {
    var encoder = RequestEncoder()
    var output = ByteBuffer()
    let fields: FieldSection = [":method": "PUT", ":path": "/", ":authority": "h"]
    try encoder.writeHead(fields, .init(hasBody: true), into: &output)
    output.clear()
    try encoder.writeBody(ByteBuffer(string: "hello, world, hello"), into: &output)
    try encoder.writeBody(ByteBuffer(), into: &output)
    #expect(throws: HTTP1Failure.self) { try encoder.writeEnd(trailers: ["x": "a\r\n"], into: &output) }
    try encoder.writeEnd(trailers: ["x": "y", "content-length": "1", "connection": "close"], into: &output)
    #expect(String(buffer: output) == "13\r\nhello, world, hello\r\n0\r\nx: y\r\n\r\n")
  }
}
