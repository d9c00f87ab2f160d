import Byway
import BywayInterceptors
import BywayPrimitives
import Foundation
import HTTPTypes
import NIOCore
import TestPeers
import TestTools
import Testing

@Suite struct HARFileTests {
  private let folder: TemporaryFolder
  private var path: String { folder["trace.har"] }

  init() throws {
    folder = try TemporaryFolder()
  }

  /// A plugin that notes the path of a request.
  private struct Noting: Interceptor {
    func intercept(_ request: Request, next: Next) async throws -> Response {
      if request.head.path != "/" { request.note(request.head.path ?? "", by: "stamp") }
      return try await next(request)
    }
  }

  @Test("the notes of plugins are in the entry, and nothing if there are none")
  func notes() async throws {
    let har = try HARFile(path)
    let chain = Next([Trace(to: har), Noting(), Trace(to: har)]) { _ in Response(status: .ok) }
    for path in ["/a", "/"] {
      _ = try await chain(Request(url: "http://device\(path)")).body.collect(upTo: 1)
    }
    await har.flush()
    // A trace after the plugin does not see its notes.
    let notes = try HARArchive.read(path).entries.map(\._notes)
    #expect(notes.count == 4 && notes.compactMap(\.self) == [[.init(plugin: "stamp", text: "/a")]], "\(notes)")
  }

  @Test("an exchange becomes a HAR entry with all required fields")
  func entry() async throws {
    let clock = VirtualClock()
    let har = try HARFile(path)
    let trace = Trace(
      bodyLimit: 100, to: [har],
      clock: .init(
        calendar: { WallTime(sinceEpoch: .seconds(784_111_777) + .milliseconds(123)) }, uptime: { clock.elapsed }))
    let origin = TestOrigin { request in
      clock.advance(by: .milliseconds(10))
      _ = try await request.body.collect(upTo: 100)
      clock.advance(by: .milliseconds(20))
      return Response(
        status: .found, fields: [.contentType: "image/png", .location: "/x"],
        body: Body(ByteBuffer(bytes: [0x89, 0xFF, 0])))
    }
    let request = try Request(
      .post, url: "http://device/a?b=%22c%22&d", body: Body("one=1\n\"two\"\u{1}"))
    let response = try await origin.behind(trace)(request)
    clock.advance(by: .milliseconds(30))
    _ = try await response.body.collect(upTo: 100)
    await har.flush()

    let log = try HARArchive.read(path)
    #expect(log.version == "1.2")
    #expect(log.creator.name == "Byway" && log.creator.version == Release.version)
    let entry = try #require(log.entries.first)
    #expect(log.entries.count == 1)
    #expect(entry.startedDateTime == "1994-11-06T08:49:37.123Z")
    #expect([entry.timings.send, entry.timings.wait, entry.timings.receive, entry.time] == [10, 20, 30, 60])
    #expect(entry.request.method == "POST")
    #expect(entry.request.url == "http://device/a?b=%22c%22&d")
    #expect(entry.request.queryString == [.init(name: "b", value: "%22c%22"), .init(name: "d", value: "")])
    #expect(entry.request.postData?.text == "one=1\n\"two\"\u{1}")
    #expect(entry.request.bodySize == 12)
    #expect(entry.response.status == 302)
    #expect(entry.response.statusText == "Found")
    #expect(entry.response.redirectURL == "/x")
    #expect(entry.response.content.text == "if8A")
    #expect(entry.response.content.encoding == "base64")
    #expect(entry.response.content.size == 3)
    #expect(entry.response._error == nil)
    #expect(entry.response._transferSize == entry.response.bodySize)
  }

  @Test("a HAR entry has host, version and status text as a browser writes them")
  func complete() async throws {
    let har = try HARFile(path, framing: .http1)
    let origin = TestOrigin { _ in Response(status: .init(code: 404), body: Body("x")) }
    _ = try await origin.behind(Trace(to: har)).get("http://device:8080/a", [.accept: "*/*"]).text
    await har.flush()
    let entry = try #require(try HARArchive.read(path).entries.first)
    #expect(entry.request.httpVersion == "HTTP/1.1" && entry.response.httpVersion == "HTTP/1.1")
    #expect(entry.request.headers == [.init(name: "host", value: "device:8080"), .init(name: "Accept", value: "*/*")])
    #expect(entry.response.statusText == "Not Found")
  }

  @Test("a WebSocket is a GET with a 101 in the HAR file")
  func webSocket() async throws {
    let har = try HARFile(path)
    let chain = TestOrigin().behind(Trace(to: har))
    var request = try Request(.connect, url: "https://device/live")
    request.head.extendedConnectProtocol = "websocket"
    _ = try await chain(request).text
    await har.flush()
    let entry = try #require(try HARArchive.read(path).entries.first)
    #expect(entry.request.method == "GET" && entry.request.url == "wss://device/live")
    #expect(entry.response.status == 101 && entry.response.statusText == "Switching Protocols")
    #expect(entry.request.httpVersion == "HTTP/2")
  }

  @Test("a refused request has the status that the client received in the HAR file, or 0 if the client left")
  func refused() async throws {
    let har = try HARFile(path, at: .hop)
    let origin = TestOrigin { request in
      let code: BywayError.Code = request.head.path == "/gone" ? .cancelled : .forbidden
      throw BywayError(code, "This gateway does not reach device:443.")
    }
    for path in ["/", "/gone"] { _ = try? await origin.behind(Trace(to: har)).get("https://device\(path)") }
    await har.flush()
    let entries = try HARArchive.read(path).entries
    #expect(entries.map(\.response.status) == [403, 0])
    #expect(entries.first?.response.statusText == "Forbidden")
  }

  @Test("HAR entries are in the order in which exchanges ended")
  func order() async throws {
    let har = try HARFile(path)
    let chain = TestOrigin().behind(Trace(to: har))
    let paths = (0..<300).map { "http://device/\($0)" }
    for path in paths { _ = try await chain.get(path).text }
    await har.flush()
    #expect(try HARArchive.read(path).entries.map(\.request.url) == paths)
  }

  @Test("a request body that is not text is in base64")
  func binaryRequest() async throws {
    let har = try HARFile(path)
    let origin = TestOrigin { request in
      for try await _ in request.body {}
      return Response(status: .ok)
    }
    let chain = origin.behind(Trace(bodyLimit: 20, to: har))
    let body = Body(ByteBuffer(bytes: [0x89, 0xFF, 0]))
    _ = try await chain(try Request(.post, url: "http://a/", body: body)).text
    await har.flush()
    let data = try #require(try HARArchive.read(path).entries.first?.request.postData)
    #expect(data.text == "if8A" && data._encoding == "base64")
  }

  @Test("the HAR file conforms to the format's schema for any exchange")
  func schema() async throws {
    let har = try HARFile(path)
    let origin = TestOrigin { request in
      for try await _ in request.body {}
      switch request.head.path {
      case "/lost": throw BywayError(.linkLost, "The \"link\"\nwas lost.")
      case "/moved": return Response(status: .found, fields: [.location: "/é?token=x#y"])
      case "/odd": return Response(status: .init(code: 599, reasonPhrase: "Öd\t"), fields: [.setCookie: "a=b; Path=/"])
      case "/text": return Response(status: .ok, fields: [.contentType: "text/plain"], body: Body("ä\u{0}\u{1F600}\""))
      case "/bytes": return Response(status: .ok, body: Body(ByteBuffer(bytes: Array(0...255))))
      case "/cut":
        return Response(
          status: .ok,
          body: Body(
            AsyncThrowingStream {
              $0.yield(ByteBuffer(string: "x"))
              $0.finish(throwing: BywayError(.linkLost, "cut"))
            }))
      default: return Response(status: .noContent)
      }
    }
    let chain = origin.behind(Trace(bodyLimit: 20, to: har))
    let paths = ["/", "/lost", "/moved", "/odd", "/text", "/bytes", "/cut", "/?a=b&&=&c&d=%20%&password=x", "*"]
    let methods: [HTTPRequest.Method] = [.get, .head, .post, .options, .delete]
    for path in paths {
      for method in methods {
        var request = try Request(
          method, url: "http://[::1]:8080/", body: Body("{\"a\": \"\u{FFFD}ä\", \"b\": 1}"))
        request.head.authority = "user:pass@[::1]:8080"
        request.head.path = path
        request.head.headerFields = [.contentType: "application/json", .cookie: "a=b", .userAgent: "\"x\"\\"]
        _ = try? await chain(request).text
        request.body = path == "/bytes" ? Body(ByteBuffer(bytes: Array((0...255).reversed()))) : .empty
        request.head.headerFields = [:]
        _ = try? await chain(request).text
      }
    }
    _ = try await chain.get("http://a/text")
    await har.flush()
    #expect(try HARArchive.read(path).entries.count == paths.count * 10 + 1)
    #expect(try await HARCheck.problems(in: path) == "")
  }

  @Test("the schema check finds missing, mistyped, additional and inconsistent values")
  func check() async throws {
    let har = try HARFile(path)
    _ = try await TestOrigin().behind(Trace(to: har)).get("http://a/")
    await har.flush()
    let text = try String(contentsOfFile: path, encoding: .utf8)
    for (part, other) in [
      ("\"bodySize\"", "\"_bodySize\""), ("\"status\":200", "\"status\":\"200\""), ("\"time\":", "\"time\":1"),
      ("\"cache\":{}", "\"cache\":{\"more\":1}"), ("T", " "), ("\"1.2\"", "\"1.1\""),
    ] {
      try folder.write(text.replacing(part, with: other), to: "wrong.har")
      #expect(try await HARCheck.problems(in: folder["wrong.har"]) != "", "\(part)")
    }
  }

  @Test("the HAR file is complete at any moment, and readable by its owner only")
  func growing() async throws {
    try folder.write("something longer that was there before, and that others could read", to: "trace.har")
    let har = try HARFile(path)
    #expect(try HARArchive.read(path).entries.isEmpty)
    let origin = TestOrigin { request in
      if request.head.path == "/3" { throw BywayError(.linkLost, "The link was lost.") }
      return Response(status: .ok, body: Body("x"))
    }
    let chain = origin.behind(Trace(to: har))
    for index in 1...5 {
      _ = try? await chain.get("http://a/\(index)").text
      await har.flush()
      #expect(try HARArchive.read(path).entries.count == index)
    }
    let entries = try HARArchive.read(path).entries
    #expect(entries.map(\.response.status) == [200, 200, 0, 200, 200])
    #expect(entries[2].response._error == "The link was lost. (linkLost)")
    #expect(entries[0].response.content.text == nil)
    #expect(entries[0].response.content.comment == "0 of 1 bytes were kept.")
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }

  @Test("concurrent exchanges become complete HAR entries")
  func many() async throws {
    let har = try HARFile(path)
    let chain = TestOrigin { _ in Response(status: .ok, body: Body("x")) }.behind(Trace(bodyLimit: 10, to: har))
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<300 { group.addTask { _ = try? await chain.get("http://a/\(index)").text } }
    }
    await har.flush()
    let urls = try HARArchive.read(path).entries.map(\.request.url)
    #expect(Set(urls) == Set((0..<300).map { "http://a/\($0)" }))
  }

  @Test("a HAR file that cannot be created is an error with its path")
  func unwritable() {
    let error = #expect(throws: BywayError.self) { try HARFile(folder["none/trace.har"]) }
    #expect(error?.message.contains("none/trace.har: No such file or directory") == true)
  }

  @Test("a full disk is reported as an error of the HAR file")
  func fullDisk() {
    let error = #expect(throws: BywayError.self) { try HARFile("/dev/full") }
    #expect(error?.message.contains("No space left") == true)
  }
}
