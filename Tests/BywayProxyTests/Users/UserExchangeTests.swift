import BywayHTTPWire
import Logging
import NIOCore
import TestWire
import Testing

@testable import Byway
@testable import BywayProxy

@Suite("Exchange of a user") struct UserExchangeTests {
  @Test("body bytes that arrive during the login check are forwarded in one piece")
  func held() {
    let answer = Answer()
    let exchange = UserExchange(hiding: nil, within: HeldContent(), respondingTo: answer)
    for _ in 0..<100_000 { exchange.write(ByteBuffer(string: "x")) }
    exchange.finish(trailers: nil)
    let upstream = Upstream()
    exchange.begin(
      ExchangeHead(fields: [":method": "POST"], isComplete: false), as: .init(user: .anyone, resource: nil),
      with: { _, _ throws(BywayError) in upstream }, ended: { _ in })
    #expect(upstream.writes == [100_000] && upstream.isWhole)
  }

  @Test("a body beyond the limit during the login check ends the exchange")
  func bounded() {
    let answer = Answer()
    let exchange = UserExchange(hiding: nil, within: HeldContent(), respondingTo: answer)
    for _ in 0..<10 { exchange.write(ByteBuffer(repeating: 0, count: 1 << 20)) }
    #expect(answer.failure == .tooLarge && exchange.isOver)
  }

  @Test("the bytes held by all exchanges are limited, and freed when one of them ends")
  func boundedTogether() {
    let (room, answer) = (HeldContent(), Answer())
    let exchanges = (0..<5).map { _ in UserExchange(hiding: nil, within: room, respondingTo: answer) }
    for exchange in exchanges.prefix(4) { exchange.write(ByteBuffer(repeating: 0, count: 8 << 20)) }
    #expect(answer.failure == nil)
    exchanges[4].write(ByteBuffer(string: "x"))
    #expect(answer.failure == .refused && exchanges[4].isOver)
    exchanges[0].cancel(BywayError(.cancelled, "Gone."))
    let next = UserExchange(hiding: nil, within: room, respondingTo: answer)
    next.write(ByteBuffer(string: "x"))
    #expect(!next.isOver)
  }

  @Test("bytes held during the login check use at most half of the memory budget, and none when it is exhausted")
  func budget() {
    let (budget, answer) = (MemoryBudget(limit: 100_000), Answer())
    let room = HeldContent(within: budget)
    let exchanges = (0..<2).map { _ in UserExchange(hiding: nil, within: room, respondingTo: answer) }
    exchanges[0].write(ByteBuffer(repeating: 0, count: 50_000))
    #expect(answer.failure == nil)
    exchanges[1].write(ByteBuffer(string: "x"))
    #expect(answer.failure == .refused && exchanges[1].isOver)
    exchanges[0].cancel(BywayError(.cancelled, "Gone."))
    budget.changeSpare(by: 100_001)
    let (late, lateAnswer) = (Answer(), Answer())
    let refused = UserExchange(hiding: nil, within: room, respondingTo: lateAnswer)
    refused.write(ByteBuffer(string: "x"))
    #expect(lateAnswer.failure == .refused && refused.isOver)
    budget.changeSpare(by: -100_001)
    let next = UserExchange(hiding: nil, within: room, respondingTo: late)
    next.write(ByteBuffer(string: "x"))
    #expect(late.failure == nil && !next.isOver)
  }

  @Test(
    "a body held during the login check counts in the memory budget, and gets 503 when that is exhausted",
    .timeLimit(.minutes(1)))
  func counted() async throws {
    let budget = MemoryBudget(limit: 1_000_000)
    let watch = Watch(TestLoops.next())
    let room = HeldContent(within: budget)
    let handler = Unshared(Waiting(within: room))
    let (client, channel) = try await WireEnd.pair(on: watch.eventLoop) { $0.prepareForHandover() }
    var configuration = ServerConfiguration(hop: "hop", logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    configuration.memory = budget
    try await watch.run { [configuration] in
      _ = HTTP1ServerConnection.start(on: channel, handler: handler.value, configuration: configuration)
    }
    try await client.send("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000\r\n\r\n")
    client.offer(ByteBuffer(repeating: 0, count: 150_000))
    // A connection reports in steps.
    try await watch.until("the body counts") { budget.held > 150_000 - 2 * MemoryAccount.step }
    let others = Unshared(MemoryAccount(budget, on: watch.eventLoop))
    try await watch.run {
      others.value.open { false }
      others.value.change(by: 900_000)
    }
    client.offer(ByteBuffer(repeating: 0, count: 50_000))
    let response = try await client.receive(through: "\r\n\r\n")
    #expect(response.hasPrefix("HTTP/1.1 503 "), "\(response)")
    try await watch.run { others.value.close() }
    try await watch.until("nothing is held") { budget.held == 0 }
    client.close()
  }

  /// A handler whose logins are never checked.
  private final class Waiting: ExchangeHandler {
    private let room: HeldContent

    init(within room: HeldContent) {
      self.room = room
    }

    func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
      UserExchange(hiding: nil, within: room, respondingTo: sink)
    }
  }

  @Test(
    "user and login fields are removed from trailers, during the login check and after it",
    arguments: [true, false])
  func trailers(_ isEarly: Bool) throws {
    let exchange = UserExchange(
      hiding: try UserHeader("X-Remote-User"), within: HeldContent(), respondingTo: Answer())
    let upstream = Upstream()
    let trailers: FieldSection = [
      "x-remote-user": "root", "x_remote_user": "root", "X-Remote-User": "root", "authorization": "Basic eDp5",
      "proxy-authorization": "Basic eDp5", "x-digest": "abc",
    ]
    if isEarly { exchange.finish(trailers: trailers) }
    exchange.begin(
      ExchangeHead(fields: [":method": "POST"], isComplete: false), as: .init(user: .anyone, resource: nil),
      with: { _, _ throws(BywayError) in upstream }, ended: { _ in })
    if !isEarly { exchange.finish(trailers: trailers) }
    #expect(upstream.isWhole && upstream.trailers == ["x-digest": "abc"])
  }

  @Test("an exchange that loses its right ends at the device as well as for the client")
  func cut() {
    let answer = Answer()
    let exchange = UserExchange(hiding: nil, within: HeldContent(), respondingTo: answer)
    let upstream = Upstream()
    exchange.begin(
      ExchangeHead(fields: [":method": "GET"], isComplete: true), as: .init(user: .anyone, resource: nil),
      with: { _, _ throws(BywayError) in upstream }, ended: { _ in })
    exchange.cut(BywayError(.refused, "The right is gone."))
    #expect(upstream.cancellations == 1 && answer.failure == .refused && exchange.isOver)
  }

  private final class Answer: ResponseSink {
    var failure: BywayError.Code?

    func informational(_ head: FieldSection) {}
    func head(_ head: FieldSection, isComplete: Bool) {}
    func write(_ bytes: ByteBuffer) {}
    func finish(trailers: FieldSection?) {}
    func fail(_ error: BywayError) { failure = error.code }
    func didConsumeRequest(_ bytes: Int) {}
  }

  private final class Upstream: RequestSink {
    var writes: [Int] = []
    var isWhole = false
    var trailers: FieldSection?
    var cancellations = 0

    func write(_ bytes: ByteBuffer) { writes.append(bytes.readableBytes) }
    func finish(trailers: FieldSection?) { (isWhole, self.trailers) = (true, trailers) }
    func cancel(_ reason: BywayError) { cancellations += 1 }
    func didConsumeResponse(_ bytes: Int) {}
  }
}
