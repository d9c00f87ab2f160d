import Byway
import HTTPWire
import NIOCore
import TestWire
import Testing

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

    func write(_ bytes: ByteBuffer) { writes.append(bytes.readableBytes) }
    func finish(trailers: FieldSection?) { (isWhole, self.trailers) = (true, trailers) }
    func cancel(_ reason: BywayError) {}
    func didConsumeResponse(_ bytes: Int) {}
  }
}
