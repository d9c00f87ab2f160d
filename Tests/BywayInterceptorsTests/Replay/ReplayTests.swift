import Byway
import Foundation
import HTTPTypes
import NIOCore
import TestPeers
import TestTools
import Testing

@testable import BywayInterceptors

@Suite(.timeLimit(.minutes(1))) struct ReplayTests {
  private let folder: TemporaryFolder
  private var path: String { folder["recordings"] }

  init() throws {
    folder = try TemporaryFolder()
  }

  /// An origin that fails: it is reached only by requests that were not recorded.
  private static let nowhere = TestOrigin { _ in throw BywayError(.linkUnavailable, "There is no origin.") }

  private func replay(keepsTime: Bool = false, clock: VirtualClock = VirtualClock()) throws -> Next {
    Self.nowhere.behind(try Replay(from: path, keepsTime: keepsTime, clock: clock))
  }

  @Test("a recording replays arbitrary bytes in the same chunks, with pauses, head and trailers")
  func streaming() async throws {
    let clock = VirtualClock()
    let chunks = [ByteBuffer(bytes: 0...255), ByteBuffer(string: "\n.\n"), ByteBuffer(repeating: 10, count: 100_000)]
    let origin = TestOrigin { _ in
      clock.advance(by: .milliseconds(120))
      var pending = chunks[...]
      let stream = AsyncStream<ByteBuffer> { continuation in
        while let chunk = pending.popFirst() { continuation.yield(chunk) }
        continuation.finish()
      }
      let body = ThrottledBody(body: Body(stream), bytesPerSecond: 1 << 30, clock: clock)
      return Response(
        status: .accepted, fields: [.contentType: "image/png", .init("x-a")!: "1"],
        body: Body(body, trailers: { [.init("x-sum")!: "7"] }))
    }
    let chain = origin.behind(try Recorder(into: path, uptime: { clock.elapsed }))
    var body = try await chain.get("http://a/log").body.makeAsyncIterator()
    for chunk in chunks {
      clock.advance(by: .milliseconds(1000))
      #expect(try await body.next() == chunk)
    }
    #expect(try await body.next() == nil)

    let later = VirtualClock()
    let response = try await replay(keepsTime: true, clock: later).get("http://A:80/log")
    #expect(response.status == .accepted)
    #expect(response.fields == [.contentType: "image/png", .init("x-a")!: "1"])
    #expect(later.elapsed == .milliseconds(120))
    var played = response.body.makeAsyncIterator()
    for (index, chunk) in chunks.enumerated() {
      #expect(try await played.next() == chunk)
      #expect(later.elapsed >= .milliseconds(120 + 1000 * (index + 1)))
    }
    #expect(try await played.next() == nil)
    #expect(await response.body.trailers() == [.init("x-sum")!: "7"])
    #expect(later.elapsed < .milliseconds(3200))
    // Without pauses, and again from the start.
    let again = try await replay().get("http://a/log")
    for _ in 0..<2 { #expect(try await again.body.collect(upTo: 1 << 20).readableBytes == 100_259) }
  }

  @Test("requests are matched by method, path, query and body, and answered in recorded order")
  func subjects() async throws {
    let counter = Counter()
    let origin = TestOrigin { request in
      let body = String(buffer: try await request.body.collect(upTo: 100))
      return Response(status: .ok, body: Body("\(request.head.method) \(body) \(counter.next)"))
    }
    for _ in 0..<2 {
      // The second recorder continues where the first one ended.
      let chain = origin.behind(try Recorder(into: path))
      _ = try await chain.get("http://a/").text
      _ = try await chain.post("http://a/", "x").text
      _ = try await chain.post("http://a/", "y").text
    }
    let chain = try replay()
    #expect(try await chain.post("http://a/", "y").text == "POST y 3")
    #expect(try await chain.post("http://a/", "y").text == "POST y 6")
    #expect(try await chain.post("http://a/", "y").text == "POST y 6")
    #expect(try await chain.post("http://a/", "x").text == "POST x 2")
    #expect(try await chain(Request(.post, url: "http://a/", body: .once("x"))).text == "POST x 5")
    #expect(try await chain.get("http://a/").text == "GET  1")
    let error = await #expect(throws: BywayError.self) { try await chain.get("http://a/other?token=hidden") }
    #expect(error?.message.contains("has no recording of GET /other with") == true)
    let goesOn = TestOrigin().behind(try Replay(from: path, missing: .goesOn))
    #expect(try await goesOn.get("http://a/other").status == .ok)
  }

  @Test("a recording of an origin answers under any name and port")
  func anyHost() async throws {
    let origin = TestOrigin { Response(status: .ok, body: Body("\($0.head.path ?? "")")) }
    let recording = origin.behind(try Recorder(into: path))
    _ = try await recording.get("http://127.0.0.1:8080/status?a=1").text
    for url in ["http://127.0.0.1:9090/status?a=1", "http://device/status?a=1", "http://[::1]:80/status?a=1"] {
      #expect(try await replay().get(url).text == "/status?a=1")
    }
    await #expect(throws: BywayError.self) { try await replay().get("http://127.0.0.1:8080/status?a=2") }
  }

  @Test("a request for another server, in absolute form or over https, gets only that server's response")
  func namedServers() async throws {
    let absolute: HTTPFields = [.init("byway-target-form")!: "absolute"]
    let origin = TestOrigin { Response(status: .ok, body: Body("\($0.head.scheme ?? "") \($0.head.authority ?? "")")) }
    let recording = origin.behind(try Recorder(into: path))
    _ = try await recording.get("http://one.example/").text
    _ = try await recording.get("http://one.example/", absolute).text
    _ = try await recording.get("http://two.example/", absolute).text
    _ = try await recording.get("https://one.example/").text
    #expect(try await replay().get("http://two.example/", absolute).text == "http two.example")
    #expect(try await replay().get("https://one.example/").text == "https one.example")
    #expect(try await replay().get("http://other/").text == "http one.example")
    await #expect(throws: BywayError.self) { try await replay().get("http://three.example/", absolute) }
    await #expect(throws: BywayError.self) { try await replay().get("https://two.example/") }
  }

  @Test("recorded failures are replayed, before the head and within a body")
  func failures() async throws {
    let origin = TestOrigin { request in
      if request.head.path == "/down" { throw BywayError(.linkUnavailable, "The link\nis down.", processing: .none) }
      let (chunks, sender) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
      sender.yield(ByteBuffer(string: "some"))
      sender.finish(throwing: BywayError(.linkLost, "The link was lost."))
      return Response(status: .ok, body: Body(chunks))
    }
    let recording = origin.behind(try Recorder(into: path))
    _ = try? await recording.get("http://a/down")
    _ = try? await recording.get("http://a/cut").text

    let chain = try replay()
    let down = await #expect(throws: BywayError.self) { try await chain.get("http://a/down") }
    #expect(down?.code == .linkUnavailable)
    #expect(down?.message == "The link is down.")
    #expect(down?.processing == BywayError.Processing.none)
    var body = try await chain.get("http://a/cut").body.makeAsyncIterator()
    #expect(try await body.next().map { String(buffer: $0) } == "some")
    let cut = await #expect(throws: BywayError.self) { try await body.next() }
    #expect(cut?.code == .linkLost)
  }

  @Test("a dropped exchange leaves no file, and a complete one a file for its owner without secrets")
  func files() async throws {
    let origin = TestOrigin { _ in
      Response(
        status: .ok, fields: [.setCookie: "id=hidden"],
        body: Body(Body(ByteBuffer(repeating: 1, count: 10)), trailers: { [.init("x-session-token")!: "hidden"] }))
    }
    let chain = origin.behind(try Recorder(into: path))
    _ = try await chain.get("http://a/?q=1&password=hidden", [.authorization: "Basic hidden"]).text
    _ = try await chain.get("http://a/dropped")
    let names = try FileManager.default.contentsOfDirectory(atPath: path)
    #expect(names == ["000001.exchange"])
    let file = path + "/000001.exchange"
    #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    #expect(try String(contentsOfFile: file, encoding: .utf8).contains("hidden") == false)
    #expect(try await replay().get("http://a/?q=1&password=other").status == .ok)
  }

  @Test("an exchange is recorded even if its reader is cancelled after the last byte", arguments: [true, false])
  func gone(_ asksForTheEnd: Bool) async throws {
    let body = Body(ByteBuffer(repeating: 1, count: 10))
    let origin = TestOrigin { _ in
      // Two ways in which the end of a body can reach a cancelled task.
      Response(status: .ok, body: asksForTheEnd ? body : Body(CancelledAtEnd(body: body), length: 10))
    }
    let chain = origin.behind(try Recorder(into: path))
    let caller = Task {
      var chunks = try await chain.get("http://a/").body.makeAsyncIterator()
      _ = try await chunks.next()
      withUnsafeCurrentTask { $0?.cancel() }
      _ = try? await chunks.next()
    }
    try await caller.value
    #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["000001.exchange"])
    #expect(try await replay().get("http://a/").text.utf8.count == 10)
  }

  @Test("responses to HEAD and responses without a body are replayed")
  func bodiless() async throws {
    let origin = TestOrigin { Response(status: .noContent).answering($0.head) }
    let recording = origin.behind(try Recorder(into: path))
    _ = try await recording(Request(.head, url: "http://a/"))
    #expect(try await replay()(Request(.head, url: "http://a/")).status == .noContent)
  }

  @Test("a damaged recording is an error with the file's name, wherever the damage is")
  func damage() async throws {
    let origin = TestOrigin { _ in Response(status: .ok, body: Body(ByteBuffer(string: "content"))) }
    _ = try await origin.behind(try Recorder(into: path)).get("http://a/").text
    let file = URL(filePath: path + "/000001.exchange")
    let whole = try Data(contentsOf: file)
    for length in 0..<whole.count {
      try whole.prefix(length).write(to: file)
      let error = await #expect(throws: BywayError.self) { try await replay().get("http://a/").text }
      #expect(error?.message.contains("000001.exchange is not a whole recording") == true || length == 0)
    }
    try Data("+ 0 99999999999\n".utf8).write(to: file)
    #expect(throws: BywayError.self) { try replay() }
  }

  /// Returns a recording of GET / whose head has `headLines` lines of 1 KiB, and one trailer of `trailer` bytes.
  private static func recording(headLines: Int, trailer: Int) -> String {
    let opening = RecordingFormat.opening("GET", "/").text.replacing(
      String(repeating: "0", count: 64), with: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    let line = "< x-a: " + String(repeating: "a", count: 1016) + "\n"
    var trailers = HTTPFields()
    if let name = HTTPField.Name("x-b") { trailers[name] = String(repeating: "b", count: trailer) }
    return opening + "< 0 200\n" + String(repeating: line, count: headLines) + "<\n+ 0 2\nhi\n"
      + RecordingFormat.end(trailers)
  }

  @Test("a recording with an oversized head or trailer is rejected")
  func bounds() async throws {
    _ = try await TestOrigin().behind(try Recorder(into: path)).get("http://a/").text
    let file = URL(filePath: path + "/000001.exchange")
    try Data(Self.recording(headLines: 250, trailer: 60_000).utf8).write(to: file)
    #expect(try await replay().get("http://a/").text == "hi")
    for (headLines, trailer) in [(257, 10), (1, 70_000)] {
      try Data(Self.recording(headLines: headLines, trailer: trailer).utf8).write(to: file)
      let error = await #expect(throws: BywayError.self) { try await replay().get("http://a/").text }
      #expect(error?.message.contains("000001.exchange is not a whole recording") == true)
    }
  }

  @Test("a missing folder of recordings is an error with its path")
  func noFolder() {
    #expect(throws: BywayError.self) { try replay() }
    #expect(throws: BywayError.self) { try Recorder(into: folder["none/recordings"]) }
  }
}

/// A body that throws in place of its end if its reader is cancelled.
private struct CancelledAtEnd: AsyncSequence, Sendable {
  let body: Body

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: body.makeAsyncIterator()) }

  struct AsyncIterator: AsyncIteratorProtocol {
    var chunks: Body.AsyncIterator

    mutating func next() async throws -> ByteBuffer? {
      try Task.checkCancellation()
      return try await chunks.next()
    }
  }
}
