import Byway
import HTTPTypes
import NIOCore
import NIOPosix
import TestTools
import Testing

@testable import BywayPlugins

/// The time that counts as a plugin's own, and its limit.
@Suite("Time of plugins", .timeLimit(.minutes(1))) struct PluginTimeTests {
  private struct NextHopError: Error {}

  private let request: Request

  init() throws {
    request = try Request(.post, url: "http://device/")
  }

  private func exchange(
    timeout: TimeAmount = .seconds(60), _ next: @escaping @Sendable (Request) async throws -> Response
  ) -> PluginExchange {
    var settings = PluginSettings(name: "clock")
    settings.timeout = timeout
    return PluginExchange(request, next: Next([][...], terminal: next), settings)
  }

  private func exchange(timeout: TimeAmount = .seconds(60)) -> PluginExchange {
    exchange(timeout: timeout) { _ in Response(status: .ok, body: Body("content")) }
  }

  /// Whether time counts as the plugin's at the moment.
  private func isCounting(_ exchange: PluginExchange) async throws -> Bool {
    let (before, start) = (exchange.ownTime, NIODeadline.now())
    #expect(try await eventually { NIODeadline.now() - start > .milliseconds(20) })
    return exchange.ownTime > before
  }

  /// A request to a plugin that does not answer.
  private func unanswered() -> Task<Response, any Error> {
    Task {
      try await untilCancelled()
      return Response(status: .ok)
    }
  }

  private func isLate(_ exchange: PluginExchange) -> Bool {
    if case .late? = exchange.failing { true } else { false }
  }

  private func refusal(of exchange: PluginExchange) -> String? {
    if case .refused(let refusal)? = exchange.failing { refusal.reason } else { nil }
  }

  /// Lets a plugin send a forbidden field on.
  /// - Returns: the error that it gets.
  private func forbid(_ name: HTTPField.Name, of exchange: PluginExchange) async -> BywayError? {
    var forbidden = request
    forbidden.head.headerFields[name] = "x"
    let sent = forbidden
    return await #expect(throws: BywayError.self) {
      _ = try await exchange.forward(sent)
    }
  }

  // MARK: Waits

  @Test("while a plugin waits for two things, no time counts until both have come, and the earlier time stays")
  func overlappingWaits() async throws {
    let exchange = exchange()
    #expect(try await isCounting(exchange))
    for _ in 1...2 {
      let before = exchange.ownTime
      exchange.waitBegan()
      exchange.waitBegan()
      #expect(exchange.ownTime >= before)
      #expect(try await !isCounting(exchange))
      exchange.waitEnded()
      #expect(try await !isCounting(exchange))
      let held = exchange.ownTime
      exchange.waitEnded()
      #expect(exchange.ownTime >= held)
      #expect(try await isCounting(exchange))
    }
  }

  @Test("the time in which a plugin reads a response of the next hop does not count")
  func response() async throws {
    let exchange = exchange()
    var response: Response? = try await exchange.forward(request)
    #expect(try await !isCounting(exchange))
    #expect(try await response?.text == "content")
    withExtendedLifetime(response) {}
    response = nil
    #expect(try await isCounting(exchange))
  }

  @Test("each of two responses of the next hop is waited for")
  func twoResponses() async throws {
    let exchange = exchange()
    var first: Response? = try await exchange.forward(request)
    var second: Response? = try await exchange.forward(request)
    withExtendedLifetime(first) {}
    first = nil
    #expect(try await !isCounting(exchange))
    withExtendedLifetime(second) {}
    second = nil
    #expect(try await isCounting(exchange))
  }

  @Test("a next hop that fails is not waited for any more, and neither is one that gets a forbidden request")
  func failedNextHop() async throws {
    let failing = exchange { _ in throw NextHopError() }
    await #expect(throws: NextHopError.self) { try await failing.forward(request) }
    #expect(try await isCounting(failing))
    let refusing = exchange()
    #expect(await forbid(.connection, of: refusing) != nil)
    #expect(try await isCounting(refusing))
    let closed = exchange()
    _ = closed.close()
    await #expect(throws: BywayError.self) { try await closed.forward(request) }
    #expect(try await isCounting(closed))
  }

  @Test("the time in which a plugin waits for a part of the client's body does not count, and its other time does")
  func requestBody() async throws {
    let exchange = exchange()
    let (chunks, sender) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
    let body = Body(chunks).paced(by: exchange)
    var iterator = body.makeAsyncIterator()
    sender.yield(ByteBuffer(string: "one"))
    #expect(try await iterator.next() == ByteBuffer(string: "one"))
    #expect(try await isCounting(exchange))
    let (began, reading) = AsyncStream.makeStream(of: Void.self)
    let rest = Task { [body = Body(chunks).paced(by: exchange)] in
      var iterator = body.makeAsyncIterator()
      reading.yield()
      return try await iterator.next()
    }
    for await _ in began { break }
    #expect(try await eventually { try await !isCounting(exchange) })
    sender.yield(ByteBuffer(string: "two"))
    #expect(try await rest.value == ByteBuffer(string: "two"))
    #expect(try await isCounting(exchange))
    sender.finish(throwing: NextHopError())
    await #expect(throws: NextHopError.self) { try await iterator.next() }
    #expect(try await isCounting(exchange))
  }

  @Test("a body for a plugin keeps its length, its trailers, and whether it can be read again")
  func properties() async throws {
    let exchange = exchange()
    let kept = Body("hello").paced(by: exchange)
    #expect(kept.length == 5 && kept.isReplayable)
    for _ in 1...2 { #expect(String(buffer: try await kept.collect(upTo: 10)) == "hello") }
    let once = Body(AsyncStream.of("a", "b"), length: 2, trailers: { [.marked: "end"] }).paced(by: exchange)
    #expect(once.length == 2 && !once.isReplayable)
    #expect(String(buffer: try await once.collect(upTo: 10)) == "ab")
    #expect(await once.trailers()?[.marked] == "end")
    #expect(Body(AsyncStream.of("a")).paced(by: exchange).length == nil)
    #expect(Body.empty.paced(by: exchange).isKnownEmpty)
  }

  // MARK: The limit

  private let loop = MultiThreadedEventLoopGroup.singleton.any()

  @Test("a plugin is late when its time is over and not before, which ends the request to it")
  func late() async throws {
    let exchange = exchange(timeout: .milliseconds(200))
    let (attempt, start) = (unanswered(), NIODeadline.now())
    exchange.watch(attempt, on: loop)
    await #expect(throws: CancellationError.self) { try await attempt.value }
    #expect(NIODeadline.now() - start >= .milliseconds(200))
    #expect(isLate(exchange))
    // A forbidden change after that is not the reason.
    #expect(await forbid(.connection, of: exchange) != nil)
    #expect(isLate(exchange) && !exchange.close() && isLate(exchange))
  }

  @Test("the limit begins again when a plugin has stopped waiting")
  func lateAfterWait() async throws {
    let exchange = exchange(timeout: .milliseconds(100))
    exchange.waitBegan()
    let attempt = unanswered()
    exchange.watch(attempt, on: loop)
    let start = NIODeadline.now()
    #expect(try await eventually { NIODeadline.now() - start > .milliseconds(350) })
    #expect(exchange.failing == nil)
    let end = NIODeadline.now()
    exchange.waitEnded()
    await #expect(throws: CancellationError.self) { try await attempt.value }
    #expect(NIODeadline.now() - end >= .milliseconds(100) && isLate(exchange))
  }

  @Test("a plugin that has answered is not late, and no later request of it makes it fail")
  func answered() async throws {
    let exchange = exchange(timeout: .milliseconds(100))
    let attempt = unanswered()
    exchange.watch(attempt, on: loop)
    exchange.settle()
    let start = NIODeadline.now()
    #expect(try await eventually { NIODeadline.now() - start > .milliseconds(300) })
    #expect(exchange.failing == nil && !attempt.isCancelled)
    let error = await forbid(.connection, of: exchange)
    #expect(error?.code == .pluginFailed && exchange.failing == nil && !attempt.isCancelled)
    attempt.cancel()
  }

  @Test("the first forbidden change ends the request at once, and stays the reason")
  func refused() async throws {
    let exchange = exchange()
    let attempt = unanswered()
    exchange.watch(attempt, on: loop)
    for name in [HTTPField.Name.connection, .upgrade] {
      let error = await forbid(name, of: exchange)
      let reason = "the plugin clock was refused: it has sent the field \(name.canonicalName)"
      #expect(error?.message.contains(reason) == true)
      #expect(error?.processing == BywayError.Processing.none)
    }
    await #expect(throws: CancellationError.self) { try await attempt.value }
    #expect(refusal(of: exchange)?.contains("connection") == true)
    // The next hop has had none of them.
    #expect(!exchange.close())
  }

  @Test("the time before a plugin is asked does not count")
  func beforeRequest() async throws {
    let exchange = exchange()
    let created = NIODeadline.now()
    #expect(try await eventually { NIODeadline.now() - created > .milliseconds(50) })
    let attempt = unanswered()
    let asked = NIODeadline.now()
    exchange.watch(attempt, on: loop)
    #expect(exchange.ownTime <= NIODeadline.now() - asked)
    exchange.settle()
    attempt.cancel()
  }

  // MARK: The next hop

  @Test("a request that a plugin sends on keeps the client's deadline and gets the plugin's body")
  func forwarded() async throws {
    let deadline = NIODeadline.now() + .hours(1)
    var original = try Request(.post, url: "http://device/", body: Body("the client's"))
    original.deadline = deadline
    let next = Next([][...]) { request in
      #expect(request.deadline == deadline)
      return Response(status: .ok, body: request.body)
    }
    let exchange = PluginExchange(original, next: next, PluginSettings(name: "clock"))
    for other in [nil, NIODeadline.now() + .seconds(1)] {
      var sent = try Request(.post, url: "http://device/", body: Body("the plugin's"))
      sent.deadline = other
      #expect(try await exchange.forward(sent).text == "the plugin's")
    }
    #expect(exchange.close())
  }
}
