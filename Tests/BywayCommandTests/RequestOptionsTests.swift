import ArgumentParser
import Byway
import BywayTerminal
import HTTPTypes
import NIOCore
import TestPeers
import TestTools
import Testing

@testable import BywayCommand

@Suite("Request options") struct RequestOptionsTests {
  private func request(_ arguments: String...) throws -> Request {
    try RequestOptions.parse(arguments).request()
  }

  @Test(
    "a path without a host is sent to the link's origin byte for byte",
    arguments: ["/status", "/a%2Fb/?q=1&q=%20", "/"])
  func barePath(_ path: String) throws {
    let head = try request(path).head
    #expect(head.path == path)
    #expect(head.scheme == "http" && head.authority == "localhost")
  }

  @Test("the method depends on the body unless it is given")
  func methods() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("x", to: "f")
    #expect(try request("/").head.method == .get)
    #expect(try request("/", "-d", "a=b").head.method == .post)
    #expect(try request("/", "-T", file).head.method == .put)
    #expect(try request("/", "-d", "a", "-X", "PATCH").head.method == .patch)
    #expect(try request("/", "-XDELETE").head.method == .delete)
    #expect(throws: CommandFailure.self) { try request("/", "-X", "GE T") }
    #expect(throws: CommandFailure.self) { try request("/", "-X", "CONNECT") }
  }

  @Test("-H replaces, repeats or removes a default field")
  func fields() throws {
    let fields = try request(
      "/", "-H", "Accept: text/html", "-H", "X-A: 1", "-H", "x-a:2", "-H", "User-Agent:", "-H", "Host: device:8080"
    ).head
    #expect(fields.headerFields[values: .accept] == ["text/html"])
    #expect(fields.headerFields[.userAgent] == nil)
    let name = try #require(HTTPField.Name("x-a"))
    #expect(fields.headerFields[values: name] == ["1", "2"])
    #expect(fields.authority == "device:8080")
  }

  @Test(
    "an invalid field, or one that only a connection may set, is refused",
    arguments: ["X", "a b: c", ": c", "X: a\r\nY: b", "Connection: close", "Transfer-Encoding: chunked", "upgrade: x"])
  func badFields(_ field: String) throws {
    let failure = try #require(throws: CommandFailure.self) { try request("/", "-H", field) }
    #expect(failure.status == .usage)
  }

  @Test("-d sends text or a file")
  func data() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("line\n\n", to: "f")
    #expect(try await request("/", "-d", "a\nb").body.collect(upTo: 100) == ByteBuffer(string: "a\nb"))
    #expect(try await request("/", "-d", "-x").body.collect(upTo: 100) == ByteBuffer(string: "-x"))
    #expect(try await request("/", "-d", "@\(file)").body.collect(upTo: 100) == ByteBuffer(string: "line\n\n"))
  }

  @Test("several -d are joined with &, files included")
  func joined() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("c=3\n", to: "f")
    let body = try request("/", "-d", "a=1", "-d", "@\(file)", "--data", "b=2").body
    #expect(body.length == 12)
    #expect(try await body.collect(upTo: 100) == ByteBuffer(string: "a=1&c=3\n&b=2"))
  }

  @Test("-F composes a form of texts and files, as browsers do")
  func form() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("{}", to: "a;b.json")
    let request = try request(
      "/", "-F", "who=me; you", "-F", "doc=@\(file)", "-F", "odd\"=@\(file);type=text/x;filename=n", "-F",
      "text=<\(file)")
    #expect(request.head.method == .post)
    let type = try #require(request.head.headerFields[.contentType])
    let boundary = try #require(type.split(separator: "boundary=").last)
    let body = try await request.body.collect(upTo: 10_000)
    #expect(request.body.length == body.readableBytes && request.body.isReplayable)
    let expected =
      [
        "Content-Disposition: form-data; name=\"who\"\r\n\r\nme; you",
        "Content-Disposition: form-data; name=\"doc\"; filename=\"a;b.json\"\r\nContent-Type: application/json\r\n\r\n{}",
        "Content-Disposition: form-data; name=\"odd%22\"; filename=\"n\"\r\nContent-Type: text/x\r\n\r\n{}",
        "Content-Disposition: form-data; name=\"text\"\r\n\r\n{}",
      ].map { "--\(boundary)\r\n\($0)\r\n" }.joined() + "--\(boundary)--\r\n"
    #expect(String(buffer: body) == expected)
    for wrong in ["name", "=x", "a=@/nowhere/f"] {
      #expect(throws: CommandFailure.self) { try RequestOptions.parse(["/", "-F", wrong]).request() }
    }
  }

  @Test("-I requests the head only")
  func headAlone() throws {
    #expect(try request("/", "-I").head.method == .head)
    #expect(throws: CommandFailure.self) { try request("/", "-I", "-d", "x") }
  }

  @Test("-T sends a file with its length, and can send it again")
  func file() async throws {
    let folder = try TemporaryFolder()
    let text = String(repeating: "0123456789", count: 50_000)
    let body = try request("/", "-T", folder.write(text, to: "f")).body
    #expect(body.length == 500_000)
    #expect(body.isReplayable)
    for _ in 1...2 { #expect(try await body.collect(upTo: 1 << 20) == ByteBuffer(string: text)) }
  }

  @Test("an unreadable input file is reported before anything is sent", arguments: ["/nowhere/f", "/"])
  func noFile(_ path: String) throws {
    for option in [["-T", path], ["-d", "@\(path)"]] {
      let failure = try #require(throws: CommandFailure.self) { try RequestOptions.parse(["/"] + option).request() }
      #expect(failure.status == .noInput)
      #expect(failure.message.contains(path))
    }
  }

  @Test("a WebSocket address is refused with what to use, and any other scheme with the schemes to write")
  func otherSchemes() throws {
    for scheme in ["ws", "wss"] {
      let failure = try #require(throws: CommandFailure.self) { try request("\(scheme)://device/x") }
      #expect(failure.message.contains("opens no WebSocket: start byway proxy"), "\(failure.message)")
    }
    let failure = try #require(throws: CommandFailure.self) { try request("ftp://device/x") }
    #expect(failure.message == "ftp:// is not spoken here: write http:// or https://.")
  }

  @Test("two bodies in one request are refused")
  func twoBodies() throws {
    #expect(throws: CommandFailure.self) { try request("/", "-d", "a", "-T", "/dev/null") }
  }

  @Test(
    "a URL without a host or with spaces is a usage error", arguments: ["status", "http://", "http://h/a b"])
  func badURLs(_ url: String) throws {
    #expect(throws: BywayError.self) { try request(url) }
  }
}
