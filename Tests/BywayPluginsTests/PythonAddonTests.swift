import Byway
import BywayPlugins
import Foundation
import HTTPTypes
import NIOCore
import TestPeers
import TestTools
import Testing

/// Addons in Python, which Byway starts: plugins/python.
@Suite("Python addons", .timeLimit(.minutes(3))) struct PythonAddonTests {
  static let python = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "plugins/python").path

  private static func counter() throws -> String { "exec:\(try Program.python.path()) -B \(python)/counter.py" }

  /// Returns the address of an addon with this text, after its imports.
  private func addon(_ text: String, in folder: TemporaryFolder) throws -> String {
    let file = try folder.write(
      "import sys\nsys.path.insert(0, \"\(Self.python)\")\nimport byway_addon\n\(text)\n", to: "addon.py")
    return "exec:\(try Program.python.path()) -B \(file)"
  }

  /// An origin with a page, and whatever a request sends.
  private static func answer(_ request: Request) async throws -> Response {
    if request.head.path == "/page" {
      return Response(status: .ok, fields: [.contentType: "text/html"], body: Body("<p>Hello</p>"))
    }
    return Response(status: .ok, body: Body(request.body, trailers: { await request.body.trailers() }))
  }

  @Test("an addon writes a counter into pages, and its notes are in the log")
  func counts() async throws {
    let log = LogRecord()
    let rig = try await PluginRig([Self.counter()], in: TemporaryFolder(), logger: log.logger) {
      try await Self.answer($0)
    }
    for number in 1...3 {
      #expect(try await rig.client.get("http://device/page").text == "<p>Hello</p><p>Page \(number)</p>")
    }
    #expect(try await eventually { log.messages.contains("plugin-0: GET /page: page 3") })
    await rig.stop()
  }

  @Test("a body passes an addon unchanged", arguments: [0, 1 << 20, 100 << 20])
  func bodies(_ size: Int) async throws {
    let rig = try await PluginRig([Self.counter()], in: TemporaryFolder()) { try await Self.answer($0) }
    let response = try await rig.client.execute(
      Request(.post, url: "http://device/", body: Body(NumberedBytes(size: size))))
    var received = 0
    for try await chunk in response.body {
      let expected = NumberedBytes.bytes(from: received, count: chunk.readableBytes)
      #expect(chunk == expected, "different after \(received) bytes")
      if chunk != expected { break }
      received += chunk.readableBytes
    }
    #expect(received == size)
    await rig.stop()
  }

  @Test("200 concurrent requests pass one addon")
  func concurrent() async throws {
    let rig = try await PluginRig([Self.counter()], in: TemporaryFolder()) { try await Self.answer($0) }
    let texts = try await withThrowingTaskGroup(of: (Int, String).self) { group in
      for number in 0..<200 {
        group.addTask {
          let request = try Request(.post, url: "http://device/", body: Body("body \(number)"))
          return (number, try await rig.client.execute(request).text)
        }
      }
      return try await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
    }
    #expect(texts.count == 200 && texts.allSatisfy { $0.value == "body \($0.key)" })
    await rig.stop()
  }

  @Test("an addon that ends under load is started again", arguments: PluginSettings.FailurePolicy.allCases)
  func ends(_ policy: PluginSettings.FailurePolicy) async throws {
    let folder = try TemporaryFolder()
    let address = try addon(
      """
      import os
      async def request(flow):
          if flow.request.path == "/end":
              os._exit(1)
          flow.request.headers["x-marked"] = "yes"
      byway_addon.run(request=request)
      """, in: folder)
    let rig = try await PluginRig([address], in: folder) {
      $0.onFailure = policy
    } origin: { request in
      Response(status: .ok, body: Body(request.head.headerFields[.marked] ?? "no"))
    }
    let results = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<60 {
        group.addTask {
          // A request that is not repeated by itself.
          let path = number % 20 == 10 ? "/end" : "/"
          return try await rig.client.execute(Request(.post, url: "http://device\(path)")).status.code
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results.allSatisfy { $0 == 200 || policy == .refuse && $0 == 502 }, "\(results)")
    #expect(try await eventually { try await rig.client.get("http://device/").text == "yes" })
    await rig.stop()
  }

  @Test("an exception in a hook fails the request, and no other one")
  func exception() async throws {
    let folder = try TemporaryFolder()
    let address = try addon(
      """
      async def request(flow):
          if flow.request.path == "/bad":
              raise ValueError("no good")
          if flow.request.path == "/reply":
              flow.reply(418, {"x-marked": "yes"}, "short and stout")
      byway_addon.run(request=request)
      """, in: folder)
    let rig = try await PluginRig([address], in: folder) { _ in Response(status: .ok) }
    #expect(try await rig.client.get("http://device/bad").status == 502)
    #expect(try await rig.client.get("http://device/").status == 200)
    let reply = try await rig.client.get("http://device/reply")
    #expect(reply.status.code == 418 && reply.fields[.marked] == "yes" && reply.fields[.contentLength] == "15")
    #expect(try await reply.text == "short and stout")
    await rig.stop()
  }

  @Test("events, trailers and a WebSocket pass an addon as they come")
  func streams() async throws {
    let rig = try await PluginRig([Self.counter()], in: TemporaryFolder()) { try await Self.answer($0) }
    let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    sender.yield(ByteBuffer(string: "one"))
    let events = try await rig.client.execute(
      Request(.post, url: "http://device/", body: Body(chunks, trailers: { [.marked: "last"] })))
    var iterator = events.body.makeAsyncIterator()
    #expect(try await iterator.next() == ByteBuffer(string: "one"))
    try await expectEcho(["two"], sender, &iterator)
    #expect(await events.body.trailers()?[.marked] == "last")
    try await rig.expectWebSocketEcho(["ping"])
    await rig.stop()
  }
}

/// Bytes that depend on their position, in chunks of 64 KiB.
private struct NumberedBytes: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let size: Int
  /// The length of the pattern: no divisor of the size of a frame or of a chunk.
  private static let period = 251
  private static let pattern = ByteBuffer(bytes: (0..<period + (1 << 20)).map { UInt8($0 % period) })

  static func bytes(from position: Int, count: Int) -> ByteBuffer? {
    pattern.getSlice(at: position % period, length: count)
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    let size: Int
    var position = 0

    mutating func next() async -> ByteBuffer? {
      let count = Swift.min(64 << 10, size - position)
      guard count > 0 else { return nil }
      defer { position += count }
      return NumberedBytes.bytes(from: position, count: count)
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(size: size) }
}
