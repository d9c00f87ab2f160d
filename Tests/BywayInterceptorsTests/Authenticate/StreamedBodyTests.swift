import Byway
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import Testing

@testable import BywayInterceptors

/// Challenged requests whose bodies can be read once.
@Suite(.timeLimit(.minutes(1))) struct StreamedBodyTests {
  /// An origin that asks for a login after it has read the body, and records the bodies.
  private final class Lock: Sendable {
    private let read = Mutex<[String]>([])
    var bodies: [String] { read.withLock { $0 } }

    func origin(_ challenge: String = "Basic realm=a") -> TestOrigin {
      TestOrigin { request in
        let body = String(buffer: try await request.body.collect(upTo: 1 << 20))
        self.read.withLock { $0.append(body) }
        if request.head.headerFields.contains(.authorization) { return Response(status: .ok, body: Body("in")) }
        return Response(status: .unauthorized, fields: [.wwwAuthenticate: challenge], body: Body("out"))
      }
    }
  }

  private let login = Authenticate(hosts: ["a"], user: "u", password: "p")

  @Test("a short streamed body is sent again complete after a 401")
  func short() async throws {
    let lock = Lock()
    let response = try await lock.origin().behind(login)(
      Request(.post, url: "http://a/", body: .once("one ", "two ", "three")))
    #expect(try await response.text == "in")
    #expect(lock.bodies == ["one two three", "one two three"])
  }

  @Test("a streamed body of up to 64 KiB is sent again, and a longer one returns the 401 to the caller")
  func long() async throws {
    let most = String(repeating: "x", count: 64 * 1024)
    let kept = Lock()
    let first = try await kept.origin().behind(login)(Request(.post, url: "http://a/", body: .once(most)))
    #expect(first.status == .ok)
    #expect(kept.bodies == [most, most])

    let lock = Lock()
    let origin = lock.origin()
    let chain = origin.behind(Authenticate(hosts: ["a"], user: "u", password: "p"))
    let refused = try await chain(Request(.post, url: "http://a/", body: .once(most, "y")))
    #expect(refused.status == .unauthorized)
    #expect(try await refused.text == "out")
    #expect(try await chain(Request(.post, url: "http://a/", body: .once(most, "y"))).status == .ok)
    #expect(lock.bodies == [most + "y", most + "y"])
    #expect(origin.heads.map { $0.headerFields.contains(.authorization) } == [false, true])
  }

  @Test("a long body that was refused before any of it was read is sent complete after the login")
  func untouched() async throws {
    let content = String(repeating: "x", count: 100_000)
    let origin = TestOrigin { request in
      guard request.head.headerFields.contains(.authorization) else {
        return Response(status: .unauthorized, fields: [.wwwAuthenticate: "Basic realm=a"])
      }
      return Response(status: .ok, body: request.body)
    }
    var request = try Request(.post, url: "http://a/", body: .once(content))
    request.body = Body(request.body, length: content.utf8.count)
    #expect(try await origin.behind(login)(request).text == content)
    #expect(origin.requests.map(\.body.length) == [100_000, 100_000])
  }

  @Test("a body in progress streams at once, survives its cancelled reader, and continues after the login")
  func underWay() async throws {
    let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    sender.yield(ByteBuffer(string: "first "))
    let origin = TestOrigin { request in
      guard request.head.headerFields.contains(.authorization) else {
        let (seen, see) = AsyncStream.makeStream(of: String.self)
        let reader = Task {
          for try await chunk in request.body { see.yield(String(buffer: chunk)) }
        }
        // Nothing else arrives before the response; then the waiting reader is cancelled.
        for await text in seen {
          #expect(text == "first ")
          break
        }
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        return Response(status: .unauthorized, fields: [.wwwAuthenticate: "Basic realm=a"])
      }
      sender.yield(ByteBuffer(string: "second"))
      sender.finish()
      return Response(status: .ok, body: Body(try await request.body.collect(upTo: 100)))
    }
    let body = Body(chunks, trailers: { [.eTag: "trailer"] })
    let response = try await origin.behind(login)(Request(.post, url: "http://a/", body: body))
    #expect(try await response.text == "first second")
    #expect(await origin.requests.last?.body.trailers() == [.eTag: "trailer"])
  }

  @Test("a body that fails returns the 401 to the caller, and the request is not repeated")
  func failing() async throws {
    let (chunks, sender) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
    sender.yield(ByteBuffer(string: "x"))
    sender.finish(throwing: BywayError(.linkLost, "gone"))
    let origin = TestOrigin { request in
      await #expect(throws: BywayError.self) { try await request.body.collect(upTo: 100) }
      return Response(status: .unauthorized, fields: [.wwwAuthenticate: "Basic realm=a"])
    }
    let response = try await origin.behind(login)(Request(.post, url: "http://a/", body: Body(chunks)))
    #expect(response.status == .unauthorized)
    #expect(origin.heads.count == 1)
  }

  @Test("a cancelled reader does not cancel the source, and the last released reader does")
  func released() async throws {
    let asked = Mutex(false)
    let left = Mutex(false)
    let source = Body(
      AsyncStream {
        asked.withLock { $0 = true }
        try? await untilCancelled()
        left.withLock { $0 = true }
        return nil as ByteBuffer?
      })
    do {
      let kept = KeptBody(source, upTo: 100)
      let body = kept.body
      let reader = Task { _ = try await body.collect(upTo: 100) }
      #expect(try await eventually { asked.withLock { $0 } })
      reader.cancel()
      await #expect(throws: CancellationError.self) { try await reader.value }
      #expect(kept.isRepeatable && !left.withLock { $0 })
    }
    #expect(try await eventually { left.withLock { $0 } })
  }

  @Test("auth-int hashes a body before it sends it, and reports an error with advice beyond 64 KiB")
  func authInt() async throws {
    let lock = Lock()
    let chain = lock.origin(#"Digest realm="r", nonce="n", qop="auth-int""#).behind(login)
    for text in ["content", "more content"] {
      #expect(try await chain(Request(.post, url: "http://a/", body: .once(text))).status == .ok)
    }
    #expect(lock.bodies == ["content", "content", "more content"])
    let long = Body.once(String(repeating: "x", count: 64 * 1024), "y")
    let error = await #expect(throws: BywayError.self) { try await chain(Request(.post, url: "http://a/", body: long)) }
    #expect(error?.message.contains("auth-int") == true)
    #expect(error?.message.contains("64 KiB") == true)
  }
}
