import Byway
import BywayInterceptors
import HTTPTypes
import TestPeers
import TestTools
import Testing

@Suite struct StubFileTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func chain(_ text: String) throws -> Next {
    try TestOrigin { _ in Response(status: .ok, body: Body("origin")) }.behind(
      StubFile(folder.write(text, to: "stubs.http")))
  }

  @Test("the first matching stub rule answers, and other requests are forwarded")
  func rules() async throws {
    try folder.write("firmware", to: "firmware.bin")
    let chain = try chain(
      """
      # A device that does not exist.

      ### GET /status
      HTTP/1.1 200 OK
      Content-Type: application/json
      Transfer-Encoding: chunked

      {"uptime":

       12}

      ### GET Hub:80/other
      HTTP/1.1 404

      ### * /firmware/*
      HTTP/2 200

      < firmware.bin

      ### DELETE /status delay=1ms rate=1000000
      HTTP/1.1 204
      ### GET /%7Euser?x
      HTTP/1.1 200

      tilde
      """)
    let status = try await chain.get("http://a/status?q")
    #expect(status.fields == [.contentType: "application/json", .contentLength: "16"])
    #expect(try await status.text == "{\"uptime\":\n\n 12}")
    #expect(try await chain(Request(.delete, url: "http://a/status")).status == .noContent)
    #expect(try await chain.post("http://a/status", "").text == "origin")
    #expect(try await chain.get("http://hub/other").status == .notFound)
    #expect(try await chain.get("http://a/other").text == "origin")
    let firmware = try await chain.post("http://a/firmware/v1", "")
    #expect(firmware.fields[.contentType] == "application/octet-stream")
    #expect(try await firmware.text == "firmware")
    #expect(try await chain.get("http://a/~user?x").text == "tilde")
    #expect(try await chain.get("http://a/~user").text == "origin")
  }

  @Test("a stub returns the output of curl -i byte for byte", arguments: ["", "Content-Length: 13\r\n"])
  func copied(_ field: String) async throws {
    let answer = "HTTP/1.1 200 OK\r\nServer: nginx\r\n\(field)\r\nhello\r\nworld\n"
    let chain = try chain("### GET /first\n\(answer)\n\n### GET /last\n\(answer)")
    #expect(try await chain.get("http://a/first").text == "hello\r\nworld\n")
    #expect(try await chain.get("http://a/last").text == "hello\r\nworld\n")
  }

  @Test("a declared length is used if the body matches it, and ignored if the text was edited")
  func declared() async throws {
    let chain = try chain(
      "### GET /whole\nHTTP/1.1 200\nContent-Length: 5\n\nab\n\n\n### GET /edited\nHTTP/1.1 200\nContent-Length: 5\n\nabcdef\n"
    )
    #expect(try await chain.get("http://a/whole").text == "ab\n\n\n")
    #expect(try await chain.get("http://a/edited").text == "abcdef")
  }

  @Test(
    "a body that looks like a file reference is sent as text if the declared length matches it", arguments: [15, 16])
  func text(_ length: Int) async throws {
    let chain = try chain("### GET /\nHTTP/1.1 200\nContent-Length: \(length)\n\n< /etc/hostname\n")
    #expect(try await chain.get("http://a/").text == (length == 15 ? "< /etc/hostname" : "< /etc/hostname\n"))
  }

  @Test("a stub rule can fail a request")
  func fails() async throws {
    let chain = try chain("### GET /gone fail=linkLost\n")
    let error = await #expect(throws: BywayError.self) { try await chain.get("http://a/gone") }
    #expect(error?.code == .linkLost)
  }

  @Test("an empty stub file has no rules, and CR LF line ends are accepted")
  func small() async throws {
    #expect(try await chain("").get("http://a/").text == "origin")
    #expect(try await chain("### GET /\r\nHTTP/1.1 200\r\nA: b\r\n\r\nx\r\n").get("http://a/").text == "x")
  }

  @Test(
    "an error in a stub file is reported with its line",
    arguments: [
      ("hello", "line 1: a rule begins with"), ("###", "line 1: write ### METHOD PATH"),
      ("\n### GET status\nHTTP/1.1 200", "line 2: \"status\" has no path"),
      ("### GET /\n\n", "line 1: the rule has no answer"),
      ("### GET /\nHTTP 200", "line 2: \"HTTP 200\" is not a status line"),
      ("### GET /\nHTTP/1.1 99", "is not a status line"),
      ("### GET /\nHTTP/1.1 200\nno field", "line 3: \"no field\" is not a field"),
      ("### GET / delay=5", "write delay=300ms"),
      ("### GET / rate=0", "bytes a second"), ("### GET / fail=lost", "Did you mean \"linkLost\"?"),
      ("### GET / dealy=1s", "Did you mean \"delay\"?"),
    ])
  func mistakes(_ text: String, _ message: String) {
    let error = #expect(throws: BywayError.self) { try chain(text) }
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    #expect(error?.message.contains("stubs.http") == true)
  }
}
