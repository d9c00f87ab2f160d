import Byway
import BywayInterceptors
import HTTPTypes
import NIOCore
import Testing

@Suite struct TransformTests {
  @Test("a text is replaced everywhere, however the body is split")
  func replacement() throws {
    let text = "aab aaab ab aabaab aa"
    for size in 1...text.utf8.count {
      var replacement = Replacement(of: "aab", with: "<aab>")
      var result = ""
      var rest = ByteBuffer(string: text)
      while let chunk = rest.readSlice(length: min(size, rest.readableBytes)), chunk.readableBytes > 0 {
        result += String(buffer: replacement.transform(chunk))
      }
      result += String(buffer: replacement.finish())
      #expect(result == "<aab> a<aab> ab <aab><aab> aa", "chunks of \(size)")
    }
    var none = Replacement(of: "", with: "x")
    #expect(String(buffer: none.transform(ByteBuffer(string: "abc"))) == "abc")
  }

  @Test("a body is rewritten while it streams, and its trailers stay")
  func streams() async throws {
    let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    let origin = TestOrigin { _ in
      Response(
        status: .ok, fields: [.contentType: "text/html; charset=utf-8"],
        body: Body(chunks, trailers: { [.init("x-sum")!: "1"] }))
    }
    let chain = origin.behind(Transform(mediaTypes: ["text/html"]) { _ in Replacement(of: "old", with: "new") })
    let response = try await chain.get("http://a/")
    var body = response.body.makeAsyncIterator()
    for (sent, expected) in [("an old ", "an new "), ("one o", "one "), ("ld", "new")] {
      sender.yield(ByteBuffer(string: sent))
      #expect(try await body.next().map { String(buffer: $0) } == expected)
    }
    sender.finish()
    #expect(try await body.next() == nil)
    #expect(await response.body.trailers() == [.init("x-sum")!: "1"])
  }

  @Test("a rewritten response has no length and ranges, and a weak ETag")
  func head() async throws {
    let fields: HTTPFields = [
      .contentType: "text/plain", .contentLength: "3", .eTag: "\"v1\"", .acceptRanges: "bytes", .lastModified: "x",
      .init("content-digest")!: "sha-256=:x:",
    ]
    let origin = TestOrigin { _ in Response(status: .ok, fields: fields, body: Body("old")) }
    let chain = origin.behind(Transform { _ in Replacement(of: "old", with: "newer") })
    let response = try await chain.get("http://a/", [.range: "bytes=0-1", .ifRange: "\"v1\"", .acceptEncoding: "br"])
    #expect(response.fields == [.contentType: "text/plain", .eTag: "W/\"v1\"", .lastModified: "x"])
    #expect(response.body.length == nil)
    #expect(try await response.text == "newer")
    #expect(origin.heads.first?.headerFields == [.acceptEncoding: "identity"])
    let head = try await chain(Request(.head, url: "http://a/"))
    #expect(head.fields[.contentLength] == nil)
  }

  @Test(
    "a response that must not or cannot be rewritten passes unchanged",
    arguments: [
      (200, [.contentType: "image/png"]), (200, [.contentType: "text/html", .contentEncoding: "gzip"]), (200, [:]),
      (200, [.contentType: "text/html", .cacheControl: "max-age=1, No-Transform"]),
      (206, [.contentType: "text/html", .contentRange: "bytes 0-2/9"]), (302, [.contentType: "text/html"]),
    ] as [(Int, HTTPFields)])
  func untouched(_ status: Int, _ fields: HTTPFields) async throws {
    var fields = fields
    fields[.eTag] = "\"1\""
    let sent = fields
    let origin = TestOrigin { _ in Response(status: .init(code: status), fields: sent, body: Body("old")) }
    let chain = origin.behind(Transform(mediaTypes: ["Text/HTML"]) { _ in Replacement(of: "old", with: "new") })
    let response = try await chain.get("http://a/")
    #expect(response.fields == fields)
    #expect(try await response.text == "old")
  }
}
