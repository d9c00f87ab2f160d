import BywayHTTPWire
import NIOCore
import Synchronization
import TestTools
import TestWire
import Testing

@testable import Byway

/// Notifications to observers of a listener's exchanges.
@Suite(.timeLimit(.minutes(1))) struct ObservedExchangeTests {
  private let observer = RecordingObserver()

  private func server(answer: (@Sendable (ScriptedExchange) -> Void)? = nil) async throws -> HTTP1ServerFixture {
    try await HTTP1ServerFixture(observers: [observer], answer: answer)
  }

  /// Waits for the end of the only exchange, and returns its record.
  private func ended() async throws -> ExchangeRecord {
    #expect(try await eventually { observer.heard.ended.count == 1 })
    let heard = observer.heard
    #expect(heard.begun.count == 1)
    return try #require(heard.ended.first)
  }

  @Test("an observer is notified of an exchange's begin and end with its request and response")
  func exchange() async throws {
    let server = try await server()
    let exchange = try await server.exchange("POST /a?b HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\nhello")
    _ = try await exchange.requestBody()
    let begun = try #require(observer.heard.begun.first)
    #expect(begun.status == nil && begun.ended == nil && observer.heard.requestBytes == 5)
    try await exchange.answer([":status": "201"], "created")
    let record = try await ended()
    #expect(record.method == "POST" && record.path == "/a?b" && record.authority == "here" && record.scheme == "http")
    #expect(record.version == .http1_1 && record.listener == "unix:/listener")
    #expect(record.status == 201 && record.failure == nil)
    #expect(record.requestBytes == 5 && record.responseBytes == 7 && observer.heard.responseBytes == 7)
    #expect(record.upstream == nil && record.sent == nil)
    let times = [record.begun, record.requestEnded, record.answered, record.ended].compactMap(\.self)
    #expect(times.count == 4 && times == times.sorted())
  }

  @Test("an observer is notified of a stream's bytes while it runs")
  func stream() async throws {
    let server = try await server()
    let exchange = try await server.exchange("GET / HTTP/1.1\r\nHost: here\r\n\r\n", begin: [":status": "200"])
    try await exchange.send("event")
    #expect(observer.heard.responseBytes == 5 && observer.heard.ended.isEmpty)
    try await exchange.end()
    #expect(try await ended().responseBytes == 5)
  }

  @Test("a failed exchange is recorded with the failure, its party and the client's status")
  func failure() async throws {
    let server = try await server { $0.failNow(BywayError(.originUnavailable, "Nobody is there.")) }
    try await server.client.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    let record = try await ended()
    #expect(record.failure == .init(code: .originUnavailable, party: .origin))
    #expect(record.status == 503 && record.responseBytes > 0)
  }

  @Test("a client that disconnects ends the exchange, and is recorded as the failed party")
  func clientLeaves() async throws {
    let server = try await server()
    _ = try await server.exchange("GET / HTTP/1.1\r\nHost: here\r\n\r\n", begin: [":status": "200"])
    _ = try await server.client.receive(through: "200 OK")
    try await server.client.reset()
    let record = try await ended()
    #expect(record.failure == .init(code: .cancelled, party: .client) && record.status == 200)
  }

  @Test("a response that breaks off is recorded as failed in spite of its status")
  func cutShort() async throws {
    let server = try await server()
    let exchange = try await server.exchange("GET / HTTP/1.1\r\nHost: here\r\n\r\n", begin: [":status": "200"])
    try await exchange.fail(BywayError(.incompleteResponse, "The origin has left."))
    let record = try await ended()
    #expect(record.failure == .init(code: .incompleteResponse, party: .origin) && record.status == 200)
  }

  @Test("an invalid request and one that is refused at once are recorded")
  func refused() async throws {
    let server = try await server()
    try await server.client.send("nonsense\r\n\r\n")
    let record = try await ended()
    #expect(record.method == nil && record.status == 400 && record.trace == nil)
    #expect(record.failure == .init(code: .invalidRequest, party: .client))

    let other = try await HTTP1ServerFixture(observers: [observer])
    try await other.client.send("GET /x HTTP/1.1\r\nHost: here\r\nVia: 1.1 hop\r\n\r\n")
    #expect(try await eventually { observer.heard.ended.count == 2 })
    let looping = try #require(observer.heard.ended.last)
    #expect(looping.path == "/x" && looping.status == 508 && looping.failure?.code == .loopDetected)
  }

  @Test("each exchange of a connection has its own record")
  func several() async throws {
    let server = try await server { $0.answerNow([":status": "200", "content-length": "1"], "x") }
    for path in ["/1", "/2"] {
      try await server.client.send("GET \(path) HTTP/1.1\r\nHost: here\r\n\r\n")
      _ = try await server.client.receive(through: "x")
    }
    #expect(observer.heard.ended.map(\.path) == ["/1", "/2"])
    #expect(Set(observer.heard.ended.map(\.trace)).count == 2)
  }

  /// Begins an exchange without a connection.
  private func exchange() throws -> ObservedExchange {
    var fields: FieldSection = [":method": "GET"]
    let observation = try #require(Observation([observer], listener: "", traces: TraceSource()))
    return observation.begin(&fields, .http2, isComplete: true)
  }

  @Test("a record that an observer has kept does not change afterwards")
  func kept() throws {
    let exchange = try exchange()
    exchange.sent([:], to: "http://origin", at: .now())
    exchange.responseBegan([":status": "200"])
    exchange.ended()
    let sent = try #require(observer.heard.sent.first)
    #expect(sent.attempts == 1 && sent.status == nil && sent.ended == nil)
    #expect(observer.heard.ended.map(\.status) == [200])
  }

  @Test("events after the end of an exchange are not recorded")
  func afterwards() throws {
    let exchange = try exchange()
    exchange.ended()
    exchange.sent([:], to: "http://origin", at: .now())
    exchange.answered([":status": "200"])
    exchange.ended()
    #expect(observer.heard.sent.isEmpty && observer.heard.ended.count == 1)
    #expect(exchange.record.attempts == 0 && exchange.record.answered == nil)
  }

  @Test("a reader is notified of each step without a record, and one that reads only ends of the end")
  func readers() throws {
    let all = [false, true, false].map { NotingReader(readsOnlyEnds: $0) }
    var fields: FieldSection = [":method": "GET"]
    let observation = try #require(Observation(all + [observer], listener: "", traces: TraceSource()))
    let exchange = observation.begin(&fields, .http2, isComplete: false)
    exchange.sent([:], to: "http://origin", at: .now())
    exchange.requestBody(ByteBuffer(string: "abc"))
    exchange.responseBegan([":status": "200"])
    exchange.responseBody(ByteBuffer(string: "hello"))
    exchange.ended()
    let steps = ["began GET", "sent http://origin", "moved 3 0", "moved 0 5", "ended 200"]
    #expect(all.map(\.steps) == [steps, ["ended 200"], steps])
    #expect(observer.heard.begun.count == 1 && observer.heard.sent.count == 1 && observer.heard.ended.count == 1)
    #expect(observer.heard.requestBytes == 3 && observer.heard.responseBytes == 5)
  }

  /// A reader that notes its steps.
  private final class NotingReader: ExchangeObserver, ExchangeReader {
    let readsOnlyEnds: Bool
    private let mutex = Mutex<[String]>([])

    init(readsOnlyEnds: Bool) {
      self.readsOnlyEnds = readsOnlyEnds
    }

    var steps: [String] { mutex.withLock(\.self) }

    private func note(_ step: String) { mutex.withLock { $0.append(step) } }

    func began(_ exchange: ExchangeRecord.State) { note("began \(exchange.values.head.value(of: .method) ?? "")") }
    func sent(_ exchange: ExchangeRecord.State) { note("sent \(exchange.values.upstream ?? "")") }
    func exchangeMoved(requestBytes: Int, responseBytes: Int) { note("moved \(requestBytes) \(responseBytes)") }
    func exchangeEnded(_ exchange: ExchangeRecord) { note("a record") }
    func ended(_ exchange: ExchangeRecord.State) { note("ended \(exchange.values.status ?? 0)") }
  }
}
