import Byway
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import Testing

@testable import BywayInterceptors

/// RFC 5861 and RFC 9111 §4.2.4, §4.4: stale responses, invalidation, and an unreachable origin.
@Suite(.timeLimit(.minutes(1))) struct CacheFailureTests {
  /// Returns a rig whose origin responds once with these fields, then fails.
  private static func rig(
    _ control: String, grace: Duration = .zero, failing: @escaping @Sendable () throws -> Response
  ) throws -> CacheRig {
    let counter = Counter()
    return try CacheRig {
      $0.staleIfError = grace
    } _: { _ in
      if counter.next > 1 { return try failing() }
      return Response(status: .ok, fields: [.cacheControl: control, .eTag: "\"1\""], body: Body("stored"))
    }
  }

  @Test("stale-if-error: the cache serves a stale response while the origin fails, as long as allowed (RFC 5861 §4)")
  func staleIfError() async throws {
    for status in [500, 502, 503, 504] {
      let rig = try Self.rig("max-age=10, stale-if-error=100") { Response(status: .init(code: status)) }
      _ = try await rig.get()
      rig.advance(110)
      let saved = try await rig.get()
      #expect(saved.text == "stored")
      #expect(saved.age == 110)
      #expect(saved.cacheStatus == "byway; hit; detail=stale-if-error; ttl=-100")
      rig.advance(1)
      #expect(try await rig.get().status == status)
    }
  }

  @Test("stale-if-error covers a lost link and an unreachable origin, and not an invalid request")
  func lostLink() async throws {
    let codes: [(BywayError.Code, Bool)] = [
      (.linkUnavailable, true), (.linkLost, true), (.originUnavailable, true), (.timedOut, true),
      (.invalidRequest, false), (.originUntrusted, false), (.cancelled, false),
    ]
    for (code, isSaved) in codes {
      let rig = try Self.rig("max-age=10", grace: .seconds(100)) { throw BywayError(code, "failed") }
      _ = try await rig.get()
      rig.advance(50)
      if isSaved {
        #expect(try await rig.get().text == "stored")
      } else {
        let error = await #expect(throws: BywayError.self) { try await rig.get() }
        #expect(error?.code == code)
      }
    }
  }

  @Test(
    "must-revalidate and no-cache responses are never served without validation (§5.2.2.2)",
    arguments: ["max-age=10, must-revalidate, stale-if-error=100", "no-cache, stale-if-error=100"])
  func mustRevalidate(_ control: String) async throws {
    let rig = try Self.rig(control, grace: .seconds(1000)) { Response(status: .badGateway) }
    _ = try await rig.get()
    rig.advance(20)
    #expect(try await rig.get().status == 502)
  }

  @Test("stale-while-revalidate: a stale response is served at once and refreshed for the next (RFC 5861 §3)")
  func staleWhileRevalidate() async throws {
    let counter = Counter()
    let rig = try CacheRig { _ in
      Response(
        status: .ok, fields: [.cacheControl: "max-age=10, stale-while-revalidate=20"], body: Body("\(counter.next)"))
    }
    _ = try await rig.get()
    rig.advance(30)
    let first = try await rig.get()
    #expect(first.text == "1")
    #expect(first.isHit)
    #expect(try await eventually { try await rig.get().text != "1" })
    // After the window the response is requested as usual.
    rig.advance(31)
    #expect(try await rig.get().isHit == false)
  }

  @Test("offline, the cache serves stored responses of any age, and 504 otherwise, without contacting the origin")
  func offline() async throws {
    let rig = try CacheRig { request in
      let control = request.head.path == "/strict" ? "max-age=10, must-revalidate" : "max-age=10"
      return Response(status: .ok, fields: [.cacheControl: control], body: Body("stored"))
    }
    _ = try await rig.get()
    _ = try await rig.get("/strict")
    rig.goOffline()
    rig.advance(1_000_000)
    #expect(try await rig.get().text == "stored")
    #expect(try await rig.get("/strict").status == 504)
    #expect(try await rig.get("/other").status == 504)
    #expect(try await rig.send(.post).status == 504)
    #expect(rig.count == 2)
  }

  // MARK: Invalidation

  @Test(
    "a successful unsafe request invalidates the stored response (§4.4)",
    arguments: [
      (.post, 200, true), (.put, 204, true), (.delete, 200, true), (.patch, 302, true),
      (.init("PROPPATCH")!, 200, true), (.post, 400, false), (.put, 500, false), (.options, 200, false),
    ] as [(HTTPRequest.Method, Int, Bool)])
  func invalidation(_ method: HTTPRequest.Method, _ status: Int, _ isDoubtful: Bool) async throws {
    let rig = try CacheRig { request in
      request.head.method == .get
        ? Response(status: .ok, fields: [.cacheControl: "max-age=100"], body: Body("x"))
        : Response(status: .init(code: status))
    }
    _ = try await rig.get("/x?a")
    _ = try await rig.send(method, "/x?a")
    #expect(try await rig.get("/x?a").isHit == !isDoubtful)
  }

  @Test("a successful unsafe request invalidates URLs named in its response, on the same origin only")
  func named() async throws {
    let rig = try CacheRig { request in
      if request.head.method == .get { return Response(status: .ok, fields: [.cacheControl: "max-age=100"]) }
      return Response(status: .created, fields: [.location: "/made", .contentLocation: "http://b/other"])
    }
    for url in ["http://a/made", "http://b/other", "http://a/kept"] { _ = try await rig.chain.get(url) }
    _ = try await rig.send(.post, "/list")
    func isHit(_ url: String) async throws -> Bool {
      try await rig.chain.get(url).fields[.cacheStatus]?.hasPrefix("byway; hit") ?? false
    }
    #expect(try await isHit("http://a/made") == false)
    #expect(try await isHit("http://b/other"))
    #expect(try await isHit("http://a/kept"))
  }

  @Test("a response in progress is not stored if its URL is invalidated meanwhile")
  func overtaken() async throws {
    let rig = try CacheRig { request in
      request.head.method == .get
        ? Response(status: .ok, fields: [.cacheControl: "max-age=100"], body: Body("old")) : Response(status: .ok)
    }
    let early = try await rig.chain.get("http://a/")
    _ = try await rig.send(.post)
    #expect(try await early.text == "old")
    #expect(try await rig.get().isHit == false)
    #expect(try await rig.get().isHit)
  }

  // MARK: Bodies

  @Test("the cache stores a body only when it is complete")
  func incomplete() async throws {
    struct Oops: Error {}
    let counter = Counter()
    let rig = try CacheRig { request in
      let (chunks, sender) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
      sender.yield(ByteBuffer(string: "some"))
      if counter.next == 1 { sender.finish(throwing: Oops()) } else { sender.finish() }
      return Response(status: .ok, fields: [.cacheControl: "max-age=100"], body: Body(chunks))
    }
    await #expect(throws: Oops.self) { try await rig.get() }
    #expect(rig.cache.size == 0)
    do {
      // Dropped before its end.
      var body = try await rig.chain.get("http://a/").body.makeAsyncIterator()
      _ = try await body.next()
    }
    #expect(rig.cache.size == 0)
    _ = try await rig.get()
    #expect(try await rig.get().isHit)
  }

  @Test("the cache streams a body while it stores it")
  func streams() async throws {
    let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    let rig = try CacheRig { _ in Response(status: .ok, fields: [.cacheControl: "max-age=100"], body: Body(chunks)) }
    var body = try await rig.chain.get("http://a/").body.makeAsyncIterator()
    for text in ["one", "two"] {
      sender.yield(ByteBuffer(string: text))
      #expect(try await body.next().map { String(buffer: $0) } == text)
    }
    sender.finish()
    #expect(try await body.next() == nil)
    #expect(try await rig.get().text == "onetwo")
  }

  @Test("the cache does not store a body that is too large, with or without a length")
  func large() async throws {
    let rig = try CacheRig {
      $0.bodyLimit = 100
    } _: { request in
      let text = String(repeating: "x", count: 101)
      let body = request.head.path == "/known" ? Body(text) : Body.once(text)
      return Response(status: .ok, fields: [.cacheControl: "max-age=100"], body: body)
    }
    for path in ["/known", "/unknown"] {
      #expect(try await rig.get(path).text.utf8.count == 101)
      #expect(try await rig.get(path).isHit == false)
    }
    #expect(rig.cache.size == 0)
  }

  @Test("the least recently used responses are evicted when the cache is full")
  func eviction() async throws {
    let rig = try CacheRig {
      $0.limit = 20_000
    } _: { _ in
      Response(status: .ok, fields: [.cacheControl: "max-age=100"], body: Body(String(repeating: "x", count: 1000)))
    }
    _ = try await rig.get("/first")
    for index in 0..<50 {
      _ = try await rig.get("/\(index)")
      #expect(try await rig.get("/first").isHit)
      #expect(rig.cache.size <= 20_000)
    }
    #expect(try await rig.get("/49").isHit)
    #expect(try await rig.get("/0").isHit == false)
    await rig.cache.removeAll()
    #expect(rig.cache.size == 0)
  }
}
