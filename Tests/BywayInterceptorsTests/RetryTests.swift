import Byway
import BywayInterceptors
import HTTPTypes
import NIOCore
import Testing

@Suite struct RetryTests {
  private let clock = VirtualClock()
  private var retry: Retry { Retry(attempts: 4, clock: clock, random: { 1 }) }

  /// Returns an origin that fails `times` times, then responds with the request's body.
  private static func origin(failing times: Int, _ error: BywayError) -> TestOrigin {
    let failures = Stub.Answer.inTurn(
      .failing(error), times > 1 ? .failing(error) : .fixed(), times > 2 ? .failing(error) : .fixed(),
      times > 3 ? .failing(error) : .fixed())
    let stub = Stub(answer: failures)
    return TestOrigin { request in
      let text = String(buffer: try await request.body.collect(upTo: 100))
      var response = try await Next([stub][...], terminal: { _ in Response(status: .ok) })(request)
      response.body = Body(text)
      return response
    }
  }

  private static let lost = BywayError(.linkLost, "lost")
  private static let unseen = BywayError(.linkUnavailable, "down", processing: .none)

  @Test(
    "only requests that may be repeated are retried (RFC 9110 §9.2.2)",
    arguments: [
      (.get, lost, true), (.put, lost, true), (.delete, lost, true), (.post, lost, false), (.patch, lost, false),
      (.post, unseen, true), (.patch, unseen, true), (.get, BywayError(.originLost, ""), true),
      (.get, BywayError(.timedOut, ""), false), (.get, BywayError(.protocolViolation, ""), false),
      (.get, BywayError(.cancelled, ""), false), (.connect, unseen, false),
    ] as [(HTTPRequest.Method, BywayError, Bool)])
  func rules(_ method: HTTPRequest.Method, _ error: BywayError, _ repeats: Bool) async throws {
    let origin = Self.origin(failing: 1, error)
    let chain = origin.behind(retry)
    let request = try Request(method, url: "http://a/", body: Body("x"))
    if repeats {
      #expect(try await chain(request).text == "x")
    } else {
      let thrown = await #expect(throws: BywayError.self) { try await chain(request) }
      #expect(thrown?.code == error.code)
    }
    #expect(origin.heads.count == (repeats ? 2 : 1))
  }

  @Test("pauses between retries grow, and the last failure is returned to the caller")
  func givesUp() async throws {
    let origin = Self.origin(failing: 4, Self.lost)
    let chain = origin.behind(retry)
    let error = await #expect(throws: BywayError.self) { try await chain.get("http://a/") }
    #expect(error?.code == .linkLost)
    #expect(origin.heads.count == 4)
    #expect(clock.elapsed == .milliseconds(100 + 200 + 400))
  }

  @Test("a one-time body and an error that is not the link's are not retried")
  func once() async throws {
    let origin = Self.origin(failing: 1, Self.unseen)
    let chain = origin.behind(retry)
    await #expect(throws: BywayError.self) { try await chain(Request(.put, url: "http://a/", body: .once("x"))) }
    #expect(origin.heads.count == 1)
    struct Oops: Error {}
    let broken = TestOrigin { _ in throw Oops() }
    let other = broken.behind(retry)
    await #expect(throws: Oops.self) { try await other.get("http://a/") }
    #expect(broken.heads.count == 1)
  }

  @Test("a response of any status is not retried")
  func answers() async throws {
    let origin = TestOrigin { _ in Response(status: .serviceUnavailable) }
    #expect(try await origin.behind(retry).get("http://a/").status == .serviceUnavailable)
    #expect(origin.heads.count == 1)
  }

  @Test("no pause extends beyond the deadline")
  func deadline() async throws {
    let origin = Self.origin(failing: 4, Self.lost)
    let chain = origin.behind(retry)
    var request = try Request(url: "http://a/")
    request.deadline = .now() + .milliseconds(1)
    let sent = request
    let error = await #expect(throws: BywayError.self) { try await chain(sent) }
    #expect(error?.code == .linkLost)
    #expect(clock.elapsed == .zero)
  }
}
