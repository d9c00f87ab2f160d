import Byway
import HTTPTypes
import NIOCore
import Synchronization
import Testing

@testable import BywayInterceptors

@Suite struct CompressTests {
  /// An interceptor between both ends that records what crosses the link.
  private final class LinkSpy: Interceptor {
    private struct Seen {
      var requestFields: [HTTPFields] = []
      var responseFields: [HTTPFields] = []
      var requestBytes = 0
      var responseBytes = 0
    }
    private let seen = Mutex(Seen())

    var requestFields: HTTPFields { seen.withLock { $0.requestFields.last ?? [:] } }
    var responseFields: HTTPFields { seen.withLock { $0.responseFields.last ?? [:] } }
    var requestBytes: Int { seen.withLock { $0.requestBytes } }
    var responseBytes: Int { seen.withLock { $0.responseBytes } }

    func intercept(_ request: Request, next: Next) async throws -> Response {
      var request = request
      seen.withLock { $0.requestFields.append(request.head.headerFields) }
      request.body = counting(request.body) { count in self.seen.withLock { $0.requestBytes += count } }
      var response = try await next(request)
      seen.withLock { $0.responseFields.append(response.fields) }
      response.body = counting(response.body) { count in self.seen.withLock { $0.responseBytes += count } }
      return response
    }

    private func counting(_ body: Body, _ count: @escaping @Sendable (Int) -> Void) -> Body {
      Body(
        body.map { chunk in
          count(chunk.readableBytes)
          return chunk
        }, isReplayable: body.isReplayable, trailers: { await body.trailers() })
    }
  }

  private static let json =
    "[" + (0..<4000).map { "{\"id\":\($0),\"name\":\"sensor \($0 % 7)\"}" }.joined(separator: ",") + "]"
  private static let accept = HTTPField.Name.bywayAcceptCoding
  private static let coding = HTTPField.Name.bywayCoding
  private static let length = HTTPField.Name.bywayLength

  private static func chain(_ origin: TestOrigin, _ spy: LinkSpy) -> Next {
    origin.behind(Compress(at: .client), spy, Compress(at: .gateway))
  }

  private static func random(_ count: Int) -> ByteBuffer {
    ByteBuffer(bytes: (0..<count).map { _ in UInt8.random(in: 0...255) })
  }

  @Test("a response crosses the link compressed, and arrives as the origin sent it")
  func response() async throws {
    let fields: HTTPFields = [
      .contentType: "application/json; charset=utf-8", .contentLength: "\(Self.json.utf8.count)", .eTag: "\"strong\"",
      .acceptRanges: "bytes", .vary: "origin",
    ]
    let origin = TestOrigin { _ in Response(status: .ok, fields: fields, body: Body(Self.json)) }
    let spy = LinkSpy()
    let response = try await Self.chain(origin, spy).get("http://a/", [.acceptEncoding: "br"])
    #expect(response.fields == fields)
    #expect(response.body.length == Self.json.utf8.count)
    #expect(try await response.text == Self.json)
    #expect(spy.responseBytes * 4 < Self.json.utf8.count)
    #expect(spy.responseFields[.contentEncoding] == "gzip")
    #expect(spy.responseFields[.contentLength] == nil)
    #expect(spy.responseFields[.eTag] == "\"strong\"")
    #expect(origin.heads.first?.headerFields == [.acceptEncoding: "br"])
  }

  @Test("a partial response stays the same part", arguments: [0..<1000, 5000..<9000])
  func ranges(_ range: Range<Int>) async throws {
    let part = String(decoding: Array(Self.json.utf8)[range], as: UTF8.self)
    let fields: HTTPFields = [
      .contentType: "application/json", .contentLength: "\(part.utf8.count)", .eTag: "\"strong\"",
      .contentRange: "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(Self.json.utf8.count)",
    ]
    let origin = TestOrigin { _ in Response(status: .partialContent, fields: fields, body: Body(part)) }
    let spy = LinkSpy()
    let response = try await Self.chain(origin, spy).get("http://a/", [.range: "bytes=x", .ifRange: "\"strong\""])
    #expect(response.fields == fields)
    #expect(try await response.text == part)
    #expect(spy.responseBytes < part.utf8.count)
    #expect(origin.heads.first?.headerFields == [.range: "bytes=x", .ifRange: "\"strong\""])
  }

  @Test(
    "a compressed or short body passes unchanged",
    arguments: [
      ("image/png", nil, 10_000), ("application/zip", nil, 10_000), ("video/mp4", nil, 10_000),
      ("font/woff2", nil, 10_000), ("text/plain", "br", 10_000), ("text/plain", nil, 255), (nil, nil, 10_000),
    ] as [(String?, String?, Int)])
  func untouched(_ type: String?, _ coding: String?, _ count: Int) async throws {
    var fields: HTTPFields = [.contentLength: "\(count)"]
    fields[.contentType] = type
    fields[.contentEncoding] = coding
    let body = ByteBuffer(repeating: 7, count: count)
    let origin = TestOrigin { [fields] _ in Response(status: .ok, fields: fields, body: Body(body)) }
    let spy = LinkSpy()
    let response = try await Self.chain(origin, spy).get("http://a/")
    #expect(response.fields == fields)
    #expect(try await response.body.collect(upTo: 1 << 20) == body)
    #expect(spy.responseBytes == count)
  }

  @Test("an incompressible text grows only slightly")
  func incompressible() async throws {
    let body = Self.random(1 << 20)
    let origin = TestOrigin { _ in Response(status: .ok, fields: [.contentType: "text/plain"], body: Body(body)) }
    let spy = LinkSpy()
    let response = try await Self.chain(origin, spy).get("http://a/")
    #expect(try await response.body.collect(upTo: 1 << 21) == body)
    #expect(spy.responseBytes < (1 << 20) + (1 << 20) / 500)
  }

  @Test("each chunk can be read before the next is produced, and trailers arrive")
  func streams() async throws {
    let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    let origin = TestOrigin { _ in
      Response(
        status: .ok, fields: [.contentType: "text/event-stream"],
        body: Body(chunks, trailers: { [.init("x-sum")!: "1"] }))
    }
    let response = try await Self.chain(origin, LinkSpy()).get("http://a/")
    #expect(response.fields == [.contentType: "text/event-stream"])
    var body = response.body.makeAsyncIterator()
    for event in ["data: one\n\n", "data: two\n\n", String(repeating: "data: three\n\n", count: 5000)] {
      sender.yield(ByteBuffer(string: event))
      var arrived = ""
      while arrived.utf8.count < event.utf8.count { arrived += String(buffer: try #require(try await body.next())) }
      #expect(arrived == event)
    }
    sender.finish()
    #expect(try await body.next() == nil)
    #expect(await response.body.trailers() == [.init("x-sum")!: "1"])
  }

  @Test("requests are compressed once the gateway has announced that it decompresses them")
  func requests() async throws {
    let origin = TestOrigin { request in
      Response(
        status: .ok, body: Body("\(try await request.body.collect(upTo: 1 << 20) == ByteBuffer(string: Self.json))"))
    }
    let spy = LinkSpy()
    let chain = Self.chain(origin, spy)
    var request = try Request(.post, url: "http://a/", body: Body(Self.json))
    request.head.headerFields = [.contentType: "application/json", .contentLength: "\(Self.json.utf8.count)"]
    #expect(try await chain(request).text == "true")
    #expect(spy.requestBytes == Self.json.utf8.count)
    #expect(try await chain(request).text == "true")
    #expect(spy.requestBytes < Self.json.utf8.count * 5 / 4)
    #expect(spy.requestFields[.contentEncoding] == "gzip")
    #expect(origin.heads.map(\.headerFields) == [request.head.headerFields, request.head.headerFields])
    #expect(origin.requests.count { $0.body.isReplayable } == 2)
    #expect(origin.requests.last?.body.length == Self.json.utf8.count)
  }

  @Test("a single end without a compressing peer changes nothing", arguments: [Compress.End.client, .gateway])
  func alone(_ end: Compress.End) async throws {
    let origin = TestOrigin { _ in Response(status: .ok, fields: [.contentType: "text/plain"], body: Body(Self.json)) }
    let chain = origin.behind(Compress(at: end))
    for _ in 0..<2 {
      var request = try Request(.post, url: "http://a/", body: Body(Self.json))
      request.head.headerFields[.contentType] = "text/plain"
      let response = try await chain(request)
      #expect(response.fields == [.contentType: "text/plain"])
      #expect(try await response.text == Self.json)
    }
    #expect(origin.heads.allSatisfy { $0.headerFields[.contentEncoding] == nil })
  }

  @Test("heads without bodies and tunnels pass unchanged", arguments: [HTTPRequest.Method.head, .connect])
  func heads(_ method: HTTPRequest.Method) async throws {
    let fields: HTTPFields = [.contentType: "text/plain", .contentLength: "100000"]
    let origin = TestOrigin { _ in Response(status: .ok, fields: fields) }
    let response = try await Self.chain(origin, LinkSpy())(Request(method, url: "http://a/"))
    #expect(response.fields == fields)
    let confirmed = TestOrigin { _ in Response(status: .notModified, fields: fields) }
    #expect(try await Self.chain(confirmed, LinkSpy()).get("http://a/").fields == fields)
  }

  @Test("an origin cannot forge the link's compression fields")
  func pretender() async throws {
    let origin = TestOrigin { _ in
      Response(
        status: .ok, fields: [.contentEncoding: "gzip", Self.coding: "gzip", Self.length: "7", Self.accept: "gzip"],
        body: Body("no gzip"))
    }
    let response = try await Self.chain(origin, LinkSpy()).get("http://a/")
    #expect(response.fields == [.contentEncoding: "gzip"])
    #expect(try await response.text == "no gzip")
  }

  // MARK: A faulty peer

  private static func gzipped(_ text: String) async throws -> ByteBuffer {
    let gateway = TestOrigin { _ in Response(status: .ok, fields: [.contentType: "text/plain"], body: Body(text)) }
    let response = try await gateway.behind(Compress(at: .gateway)).get("http://a/", [accept: "gzip"])
    return try await response.body.collect(upTo: 1 << 24)
  }

  private static func restoring(_ body: ByteBuffer, length: String? = nil, coding: String = "gzip") async throws
    -> String
  {
    var fields: HTTPFields = [.contentEncoding: "gzip", Self.coding: coding, accept: "gzip"]
    fields[Self.length] = length
    let far = TestOrigin { [fields] _ in Response(status: .ok, fields: fields, body: Body(body)) }
    return try await far.behind(Compress(at: .client)).get("http://a/").text
  }

  @Test("a truncated, extended or damaged compressed body is an error, never another body")
  func damaged() async throws {
    let whole = try await Self.gzipped(Self.json)
    #expect(try await Self.restoring(whole, length: "\(Self.json.utf8.count)") == Self.json)
    for count in stride(from: 1, to: whole.readableBytes, by: 97) {
      let cut = whole.getSlice(at: 0, length: count)!
      let error = await #expect(throws: BywayError.self) { try await Self.restoring(cut) }
      #expect(error?.message.contains("ended too early") == true)
    }
    var longer = whole
    longer.writeString("x")
    await #expect(throws: BywayError.self) { try await Self.restoring(longer) }
    for length in ["\(Self.json.utf8.count - 1)", "\(Self.json.utf8.count + 1)"] {
      let error = await #expect(throws: BywayError.self) { try await Self.restoring(whole, length: length) }
      #expect(error?.message.contains("than it said") == true)
    }
    for _ in 0..<50 {
      var broken = whole
      let index = Int.random(in: 10..<whole.readableBytes)
      let byte = broken.getInteger(at: index, as: UInt8.self)!
      broken.setInteger(byte ^ UInt8(1 << Int.random(in: 0..<8)), at: index)
      await #expect(throws: BywayError.self) { try await Self.restoring(broken) }
    }
    let error = await #expect(throws: BywayError.self) { try await Self.restoring(whole, coding: "brotli") }
    #expect(error?.message.contains("both ends of the same version") == true)
  }

  @Test("a highly compressed body is decompressed in small pieces as it is read")
  func bomb() async throws {
    let size = 1 << 24
    let gateway = TestOrigin { _ in
      Response(
        status: .ok, fields: [.contentType: "text/plain"], body: Body(ByteBuffer(repeating: 0, count: size)))
    }
    let coded = try await gateway.behind(Compress(at: .gateway)).get("http://a/", [Self.accept: "gzip"]).body
      .collect(upTo: 1 << 20)
    let far = TestOrigin { _ in
      Response(status: .ok, fields: [.contentEncoding: "gzip", Self.coding: "gzip"], body: Body(coded))
    }
    var count = 0
    for try await chunk in try await far.behind(Compress(at: .client)).get("http://a/").body {
      #expect(chunk.readableBytes < 256 * 1024)
      count += chunk.readableBytes
    }
    #expect(count == size)
  }
}
