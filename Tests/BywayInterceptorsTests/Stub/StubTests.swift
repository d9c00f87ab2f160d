import Byway
import BywayInterceptors
import HTTPTypes
import NIOCore
import TestPeers
import TestTools
import Testing

@Suite struct StubTests {
  @Test("a fixed stub response is returned each time, in the form of an origin's response")
  func fixed() async throws {
    let chain = TestOrigin().behind(Stub(answer: .fixed(.created, fields: [.eTag: "\"1\""], body: Body("made"))))
    for _ in 0..<2 {
      let response = try await chain.get("http://a/")
      #expect(response.status == .created)
      #expect(response.fields == [.eTag: "\"1\"", .contentLength: "4"])
      #expect(try await response.text == "made")
    }
    let head = try await chain(Request(.head, url: "http://a/"))
    #expect(head.fields[.contentLength] == "4")
    #expect(try await head.text == "")
  }

  @Test("a request out of a stub's scope reaches the origin")
  func scope() async throws {
    let origin = TestOrigin()
    let chain = origin.behind(Stub(Scope(paths: ["/stub"]), answer: .fixed(.imATeapot)))
    #expect(try await chain.get("http://a/stub/x").status == .imATeapot)
    #expect(try await chain.get("http://a/other").status == .ok)
    #expect(origin.heads.map(\.path) == ["/other"])
  }

  @Test("a stub can compute a response from the request and its body")
  func computed() async throws {
    let answer = Stub.Answer.computed { request in
      let body = try await request.body.collect(upTo: 100)
      return Response(status: .ok, body: Body("\(request.head.method) \(String(buffer: body))"))
    }
    #expect(try await TestOrigin().behind(Stub(answer: answer)).post("http://a/", "x").text == "POST x")
  }

  @Test("a stub can throw a given error")
  func failing() async throws {
    let chain = TestOrigin().behind(Stub(answer: .failing(BywayError(.linkLost, "pulled"))))
    let error = await #expect(throws: BywayError.self) { try await chain.get("http://a/") }
    #expect(error?.code == .linkLost)
  }

  @Test("a list of stub responses is used in order, and the last one stays")
  func inTurn() async throws {
    let chain = TestOrigin().behind(
      Stub(answer: .inTurn(.fixed(.serviceUnavailable), .failing(BywayError(.linkLost, "")), .fixed(.ok))))
    #expect(try await chain.get("http://a/").status == .serviceUnavailable)
    await #expect(throws: BywayError.self) { try await chain.get("http://a/") }
    #expect(try await chain.get("http://a/").status == .ok)
    #expect(try await chain.get("http://a/").status == .ok)
  }

  @Test("a stub's delay precedes the response, and an earlier deadline ends it")
  func delayed() async throws {
    let clock = VirtualClock()
    let chain = TestOrigin().behind(Stub(answer: .fixed().delayed(by: .seconds(3600), clock: clock)))
    #expect(try await chain.get("http://a/").status == .ok)
    #expect(clock.elapsed == .seconds(3600))
    let request = try Request(url: "http://a/", timeout: .seconds(60))
    let error = await #expect(throws: BywayError.self) { try await chain(request) }
    #expect(error?.code == .timedOut)
    #expect(clock.elapsed <= .seconds(3660))
  }

  @Test("a throttled stub body takes its time and arrives complete")
  func throttled() async throws {
    let clock = VirtualClock()
    let text = String(repeating: "0123456789", count: 1000)
    let chain = TestOrigin().behind(Stub(answer: .fixed(body: Body(text)).throttled(to: 1000, clock: clock)))
    let response = try await chain.get("http://a/")
    #expect(response.fields[.contentLength] == "10000")
    var chunks = 0
    var received = ByteBuffer()
    for try await var chunk in response.body {
      chunks += 1
      #expect(chunk.readableBytes <= 100)
      received.writeBuffer(&chunk)
    }
    #expect(String(buffer: received) == text)
    #expect(clock.elapsed == .seconds(10))
  }

  @Test("a stub serves a file's current content with its type, and a missing file is an error with its path")
  func file() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("{}", to: "x.json")
    let chain = TestOrigin().behind(Stub(answer: .file(path)))
    let response = try await chain.get("http://a/")
    #expect(response.fields[.contentType] == "application/json")
    #expect(try await response.text == "{}")
    try folder.write("{\"a\":1}", to: "x.json")
    #expect(try await chain.get("http://a/").text == "{\"a\":1}")
    let missing = TestOrigin().behind(Stub(answer: .file(folder["none"])))
    let error = await #expect(throws: BywayError.self) { try await missing.get("http://a/") }
    #expect(error?.message.contains("none: No such file") == true)
  }
}

extension HTTPResponse.Status {
  static let imATeapot = HTTPResponse.Status(code: 418)
}
