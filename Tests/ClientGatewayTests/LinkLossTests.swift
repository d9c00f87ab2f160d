import Byway
import BywayGateway
import HTTPTypes
import LoopbackTransport
import NIOCore
import TestTools
import Testing

/// A client whose link is down, lost or drained.
@Suite(.timeLimit(.minutes(1))) struct LinkLossTests {
  private let link: Link

  init() throws {
    let name = "loss-\(UInt64.random(in: 0 ... .max))"
    link = try TransportRegistry([LoopbackTransport()]).link("loopback:\(name)")
  }

  private func gateway(
    _ handler: @escaping @Sendable (Request) async throws -> Response
  ) async throws -> Gateway {
    try await Gateway.start(GatewayConfiguration(links: [link], origin: .handler(handler)))
  }

  private func client(patience: Duration = .seconds(20)) -> BywayClient {
    var configuration = BywayClient.Configuration.defaults
    configuration.patience = patience
    return BywayClient(link, configuration: configuration)
  }

  @Test("a request waits for a link that is down, and is sent when it is up")
  func waits() async throws {
    let client = client()
    async let response = client.get("http://device/")
    let gateway = try await gateway { _ in Response(status: .ok) }
    #expect(try await response.status == .ok)
    await client.shutDown()
    await gateway.stop(within: .zero)
  }

  @Test("with a link timeout of zero the first failure is final, and has advice")
  func impatient() async throws {
    let client = client(patience: .zero)
    let error = await #expect(throws: BywayError.self) { try await client.get("http://device/") }
    #expect(error?.code == .linkUnavailable)
    #expect(error?.processing == BywayError.Processing.none)
    await client.shutDown()
  }

  @Test("a waiting request ends at its deadline")
  func deadline() async throws {
    let client = client()
    let error = await #expect(throws: BywayError.self) {
      try await client.execute(Request(url: "http://device/", timeout: .milliseconds(30)))
    }
    #expect(error?.code == .linkUnavailable || error?.code == .timedOut)
    await client.shutDown()
  }

  @Test(
    "after a lost link an idempotent request is repeated, and another one fails",
    arguments: [HTTPRequest.Method.get, .put, .post])
  func lost(_ method: HTTPRequest.Method) async throws {
    let arrived = AsyncStream.makeStream(of: Void.self)
    let first = try await gateway { _ in
      arrived.continuation.yield()
      try await untilCancelled()
      return Response(status: .internalServerError)
    }
    let client = client()
    let response = Task { try await client.execute(Request(method, url: "http://device/", body: Body("some"))) }
    for await _ in arrived.stream { break }
    await first.stop(within: .zero)
    let second = try await gateway { request in
      Response(status: .ok, body: Body(try await request.body.collect(upTo: 100)))
    }
    if method == .post {
      let error = await #expect(throws: BywayError.self) { try await response.value }
      #expect(error?.code == .linkLost)
    } else {
      #expect(String(buffer: try await response.value.body.collect(upTo: 100)) == "some")
    }
    await client.shutDown()
    await second.stop(within: .zero)
  }

  @Test("after a lost link a large repeatable body is sent again complete, and a one-time body is not")
  func replays() async throws {
    for isReplayable in [true, false] {
      let arrived = AsyncStream.makeStream(of: Void.self)
      let first = try await gateway { request in
        for try await _ in request.body.dropFirst(8) { break }
        arrived.continuation.yield()
        try await untilCancelled()
        return Response(status: .internalServerError)
      }
      let client = client()
      let body = Body(Chunks(count: 40), length: 40 * 65536, isReplayable: isReplayable)
      let response = Task { try await client.execute(Request(.put, url: "http://device/", body: body)) }
      for await _ in arrived.stream { break }
      await first.stop(within: .zero)
      let second = try await gateway { request in
        let size = try await request.body.reduce(0) { $0 + $1.readableBytes }
        return Response(status: .ok, body: Body("\(size)"))
      }
      if isReplayable {
        #expect(String(buffer: try await response.value.body.collect(upTo: 100)) == "\(40 * 65536)")
      } else {
        await #expect(throws: BywayError.self) { try await response.value }
      }
      await client.shutDown()
      await second.stop(within: .zero)
    }
  }

  @Test("a draining gateway finishes running requests, and later ones go to its successor")
  func drains() async throws {
    let arrived = AsyncStream.makeStream(of: Void.self)
    let release = AsyncStream.makeStream(of: Void.self)
    let first = try await gateway { request in
      if request.head.path == "/held" {
        arrived.continuation.yield()
        for await _ in release.stream { break }
      }
      return Response(status: .ok, body: Body("first"))
    }
    let client = client()
    async let running = client.get("http://device/held")
    for await _ in arrived.stream { break }
    async let stopped: Void = first.stop(within: .seconds(20))
    let second = try await retrying { try await self.gateway { _ in Response(status: .ok, body: Body("second")) } }
    // The notice may still be on its way; the first gateway answers a request that crosses it, or refuses it unprocessed.
    let next = try await client.get("http://device/")
    release.continuation.finish()
    #expect(String(buffer: try await running.body.collect(upTo: 100)) == "first")
    await stopped
    #expect(["first", "second"].contains(String(buffer: try await next.body.collect(upTo: 100))))
    #expect(String(buffer: try await client.get("http://device/").body.collect(upTo: 100)) == "second")
    await client.shutDown()
    await second.stop(within: .zero)
  }

  /// The name of a loopback link becomes free only when the first gateway has released it.
  private func retrying<Value>(_ body: () async throws -> Value) async throws -> Value {
    for _ in 0..<10_000 {
      do {
        return try await body()
      } catch let error as BywayError where error.code == .linkUnavailable {
        await Task.yield()
      }
    }
    return try await body()
  }
}

private struct Chunks: AsyncSequence, Sendable {
  let count: Int

  struct AsyncIterator: AsyncIteratorProtocol {
    var rest: Int

    mutating func next() async -> ByteBuffer? {
      guard rest > 0 else { return nil }
      rest -= 1
      return ByteBuffer(repeating: 5, count: 65536)
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: count) }
}
