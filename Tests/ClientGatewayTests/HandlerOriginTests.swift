import Byway
import BywayGateway
import HTTPTypes
import LoopbackTransport
import NIOCore
import TestTools
import Testing

/// A client and a gateway in one process, over a loopback link, with a Swift handler as the origin and without ports.
@Suite(.timeLimit(.minutes(1))) struct HandlerOriginTests {
  @Test("a request reaches the handler complete, and its response the client")
  func exchanges() async throws {
    try await withLink { request in
      let body = try await request.body.collect(upTo: 1 << 20)
      return Response(
        status: .created,
        fields: [.contentType: "text/plain", .init("x-path")!: request.head.path ?? ""],
        body: Body("\(request.head.method) \(String(buffer: body))"))
    } _: { client in
      let response = try await client.execute(Request(.post, url: "http://device/a?b=%20c", body: Body("hello")))
      #expect(response.status == .created)
      #expect(response.fields[.init("x-path")!] == "/a?b=%20c")
      #expect(response.body.length == 10)
      #expect(String(buffer: try await response.body.collect(upTo: 100)) == "POST hello")
    }
  }

  @Test("both bodies stream at the same time, with trailers after each")
  func streams() async throws {
    try await withLink { request in
      // Echoes while it reads, trailers included.
      let body = request.body
      return Response(status: .ok, body: Body(body, trailers: { await body.trailers() }))
    } _: { client in
      let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
      let body = Body(chunks, trailers: { [.init("x-sum")!: "6"] })
      let response = try await client.execute(Request(.post, url: "http://device/", body: body))
      var echoed = response.body.makeAsyncIterator()
      for text in ["one", "two", "three"] {
        sender.yield(ByteBuffer(string: text))
        #expect(try await echoed.next().map { String(buffer: $0) } == text)
      }
      sender.finish()
      #expect(try await echoed.next() == nil)
      #expect(await response.body.trailers()?[.init("x-sum")!] == "6")
    }
  }

  @Test("a large body arrives complete in both directions, with a few windows in memory at a time")
  func large() async throws {
    let size = 32 << 20
    try await withLink { request in
      Response(status: .ok, body: Body(request.body, length: request.body.length))
    } _: { client in
      let chunk = ByteBuffer(repeating: 7, count: 100_000)
      let chunks = stride(from: 0, to: size, by: 100_000).map {
        chunk.getSlice(at: 0, length: min(100_000, size - $0))!
      }
      let request = try Request(
        .put, url: "http://device/", body: Body(chunks.asAsync, length: size, isReplayable: true))
      let response = try await client.execute(request)
      #expect(response.body.length == size)
      var received = 0
      for try await bytes in response.body {
        received += bytes.readableBytes
        #expect(bytes == ByteBuffer(repeating: 7, count: bytes.readableBytes))
      }
      #expect(received == size)
    }
  }

  @Test("two hundred requests share the link")
  func many() async throws {
    try await withLink { request in
      Response(status: .ok, body: Body(request.head.path ?? ""))
    } _: { client in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<200 {
          group.addTask {
            let response = try await client.get("http://device/\(index)")
            #expect(String(buffer: try await response.body.collect(upTo: 100)) == "/\(index)")
          }
        }
        try await group.waitForAll()
      }
    }
  }

  @Test("informational responses arrive before the final one")
  func earlyHints() async throws {
    try await withLink { request in
      request.onInformational?(
        HTTPResponse(status: .earlyHints, headerFields: [.init("link")!: "</a.css>; rel=preload"]))
      return Response(status: .noContent)
    } _: { client in
      let hints = AsyncStream.makeStream(of: HTTPResponse.self)
      var request = try Request(url: "http://device/")
      request.onInformational = { hints.continuation.yield($0) }
      #expect(try await client.execute(request).status == .noContent)
      hints.continuation.finish()
      #expect(await hints.stream.map { $0.status.code }.reduce(into: []) { $0.append($1) } == [103])
    }
  }

  @Test("a handler's error becomes a problem document, and a failed body an error, never a short success")
  func failures() async throws {
    struct Oops: Error {}
    try await withLink { request in
      if request.head.path == "/head" { throw Oops() }
      let (chunks, sender) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
      sender.yield(ByteBuffer(string: "some"))
      sender.finish(throwing: Oops())
      return Response(status: .ok, body: Body(chunks))
    } _: { client in
      let failed = try await client.get("http://device/head")
      #expect(failed.status == .internalServerError)
      #expect(failed.fields[.contentType] == "application/problem+json")
      let cut = try await client.get("http://device/body")
      #expect(cut.status == .ok)
      await #expect(throws: BywayError.self) { try await cut.body.collect(upTo: 100) }
    }
  }

  @Test("a deadline ends a request without a response, and the handler is notified")
  func deadline() async throws {
    let heard = AsyncStream.makeStream(of: String.self)
    try await withLink { _ in
      heard.continuation.yield("request")
      return try await withTaskCancellationHandler {
        try await untilCancelled()
        return Response(status: .ok)
      } onCancel: {
        heard.continuation.yield("cancellation")
      }
    } _: { client in
      // The link is opened first: a very short deadline could pass before that, and the test would show nothing.
      _ = try await client.ping()
      let error = await #expect(throws: BywayError.self) {
        try await client.execute(Request(url: "http://device/", timeout: .milliseconds(500)))
      }
      #expect(error?.code == .timedOut)
      #expect(await heard.stream.prefix(2).reduce(into: []) { $0.append($1) } == ["request", "cancellation"])
    }
  }

  @Test("a request of an already cancelled task fails without waiting")
  func cancelledBefore() async throws {
    try await withLink { _ in
      Response(status: .ok)
    } _: { client in
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        _ = try await client.get("http://device/")
      }
      await #expect { try await task.value } throws: { BywayError($0).code == .cancelled }
    }
  }

  @Test("dropping a response's body stops its sender")
  func dropped() async throws {
    let stopped = AsyncStream.makeStream(of: Void.self)
    try await withLink { _ in
      let endless = AsyncThrowingStream<ByteBuffer, any Error>(unfolding: { ByteBuffer(repeating: 1, count: 10_000) })
      return Response(status: .ok, body: Body(endless, trailers: { nil }).onEnd { stopped.continuation.yield() })
    } _: { client in
      do {
        let response = try await client.get("http://device/")
        var chunks = response.body.makeAsyncIterator()
        #expect(try await chunks.next() != nil)
      }
      for await _ in stopped.stream { break }
    }
  }

  @Test("a PING measures the round trip")
  func ping() async throws {
    try await withLink { _ in
      Response(status: .ok)
    } _: { client in
      let roundTrip = try await client.ping()
      #expect(roundTrip > .zero)
    }
  }

  // MARK: Support

  private func withLink(
    _ handler: @escaping @Sendable (Request) async throws -> Response, _ body: (BywayClient) async throws -> Void
  ) async throws {
    let name = "handler-\(UInt64.random(in: 0 ... .max))"
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:\(name)")
    try await withGateway(GatewayConfiguration(links: [link], origin: .handler(handler))) { _, client in
      try await body(client)
    }
  }
}

extension Array where Element: Sendable {
  fileprivate var asAsync: AsyncStream<Element> {
    AsyncStream { continuation in
      for element in self { continuation.yield(element) }
      continuation.finish()
    }
  }
}

extension Body {
  /// Returns the same body, which reports when it is no longer read.
  fileprivate func onEnd(_ ended: @escaping @Sendable () -> Void) -> Body {
    let body = self
    let (chunks, continuation) = AsyncThrowingStream.makeStream(
      of: ByteBuffer.self, bufferingPolicy: .bufferingNewest(4))
    let task = Task {
      for try await chunk in body { continuation.yield(chunk) }
    }
    continuation.onTermination = { _ in
      task.cancel()
      ended()
    }
    return Body(chunks)
  }
}
