import Byway
import BywayInterceptors
import HTTPTypes
import NIOCore
import Synchronization
import Testing

/// A gibibyte through all interceptors at once. Nothing accumulates, because each chunk is produced only when the reader has
/// taken the previous one.
@Suite(.timeLimit(.minutes(5))) struct StreamingTests {
  private static let chunk = ByteBuffer(repeating: 7, count: 128 * 1024)
  private static let count = 8192

  private static func chain(_ origin: TestOrigin, _ lines: TraceLines) -> Next {
    origin.behind(
      Canonicalize(), Trace(bodyLimit: 1000, to: lines), Redirect(), Retry(), Cache(),
      Authenticate(hosts: ["a"], user: "u", password: "p"), Transform { _ in Untouched() })
  }

  @Test("all interceptors stream a response chunk by chunk, at most one ahead of the reader")
  func down() async throws {
    let made = Mutex(0)
    let origin = TestOrigin { _ in
      let chunks = AsyncStream<ByteBuffer>(unfolding: {
        made.withLock { made in
          made += 1
          return made <= Self.count ? Self.chunk : nil
        }
      })
      return Response(status: .ok, fields: [.cacheControl: "max-age=100"], body: Body(chunks))
    }
    let lines = TraceLines()
    var taken = 0
    for try await chunk in try await Self.chain(origin, lines).get("http://a/").body {
      #expect(chunk.readableBytes == Self.chunk.readableBytes)
      taken += 1
      let ahead = made.withLock { $0 } - taken
      if ahead > 1 { Issue.record("\(ahead) chunks are under way") }
    }
    #expect(taken == Self.count)
    #expect(lines.exchanges.first?.responseBody.length == Self.count * Self.chunk.readableBytes)
    #expect(lines.exchanges.first?.responseBody.kept.readableBytes == 1000)
  }

  @Test("all interceptors stream a request body chunk by chunk, at most one ahead of the reader")
  func up() async throws {
    let made = Mutex(0)
    let origin = TestOrigin { request in
      var taken = 0
      for try await _ in request.body {
        taken += 1
        let ahead = made.withLock { $0 } - taken
        if ahead > 1 { Issue.record("\(ahead) chunks are under way") }
      }
      return Response(status: .ok, body: Body("\(taken)"))
    }
    let chunks = AsyncStream<ByteBuffer>(unfolding: {
      made.withLock { made in
        made += 1
        return made <= Self.count ? Self.chunk : nil
      }
    })
    let lines = TraceLines()
    let response = try await Self.chain(origin, lines)(Request(.post, url: "http://a/", body: Body(chunks)))
    #expect(try await response.text == "\(Self.count)")
    #expect(lines.exchanges.first?.requestBody.length == Self.count * Self.chunk.readableBytes)
  }
}

private struct Untouched: BodyTransformation {
  func transform(_ chunk: ByteBuffer) -> ByteBuffer { chunk }
  func finish() -> ByteBuffer { ByteBuffer() }
}
