import Byway
import BywayHTTPWire
import BywayLineLayer
import HTTPTypes
import NIOCore
import NIOEmbedded
import TestTools
import Testing

@testable import BywayProxy

/// Max-Forwards (RFC 9110 §7.6.2).
@Suite("Max-Forwards of OPTIONS and TRACE", .cleansUp) struct MaxForwardsTests {
  private func head(_ method: String, _ fields: String, _ proxy: ProxyFixture) async throws -> String {
    try await proxy.exchange("\(method) /x HTTP/1.1\r\nHost: localhost\r\n\(fields)")
  }

  @Test("with Max-Forwards 0, the proxy answers OPTIONS itself after a round trip over its link")
  func last() async throws {
    let fixture = try await ProxyFixture()
    let answer = try await head("OPTIONS", "Max-Forwards: 0", fixture)
    #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
    let match = try #require(answer.firstMatch(of: /server-timing: link;dur=([0-9.]+)\r\n/.ignoresCase()), "\(answer)")
    #expect(Double(match.1).map { (0..<10_000).contains($0) } == true)
    #expect(try await head("TRACE", "Max-Forwards: 0", fixture).hasPrefix("HTTP/1.1 501 "))
  }

  @Test("a larger Max-Forwards is decremented for OPTIONS, and unchanged for other methods")
  func counts() async throws {
    let fixture = try await ProxyFixture(respond: { request in
      let name = try #require(HTTPField.Name("Max-Forwards"))
      return Response(status: .ok, body: Body("left: \(request.head.headerFields[name] ?? "none")"))
    })
    #expect(try await head("OPTIONS", "Max-Forwards: 3", fixture).hasSuffix("left: 2"))
    #expect(try await head("GET", "Max-Forwards: 0", fixture).hasSuffix("left: 0"))
    #expect(try await head("OPTIONS", "Max-Forwards: -1", fixture).hasSuffix("left: -1"))
    #expect(try await head("OPTIONS", "X: y", fixture).hasSuffix("left: none"))
  }

  @Test("concurrent OPTIONS requests share one PING, which times out after 10 s")
  func silent() throws {
    let loop = EmbeddedEventLoop()
    let link = SilentLink(on: loop)
    let proxy = MaxForwardsHandler(before: link) { _ throws(BywayError) in link }
    func ask() -> Answer {
      let answer = Answer()
      let fields: FieldSection = [":method": "OPTIONS", ":path": "/", "max-forwards": "0"]
      _ = proxy.begin(ExchangeHead(fields: fields, isComplete: true), respondingTo: answer)
      return answer
    }
    let first = ask()
    loop.advanceTime(by: .seconds(6))
    let second = ask()
    loop.advanceTime(by: .seconds(3))
    #expect(first.error == nil && second.error == nil)
    loop.advanceTime(by: .seconds(1))
    #expect(first.error?.code == .timedOut && second.error?.code == .timedOut)
    #expect(link.pings.count == 1)
    // A late answer has no effect.
    link.pings[0].succeed(.seconds(11))
    let third = ask()
    link.pings.last?.succeed(.milliseconds(2))
    #expect(third.status == "200" && first.status == nil)
  }

  @Test("OPTIONS with Max-Forwards 0 gets 503 if the link is down, and 421 for a foreign host")
  func refused() async throws {
    let fixture = try await ProxyFixture(respond: nil)
    #expect(try await head("OPTIONS", "Max-Forwards: 0", fixture).hasPrefix("HTTP/1.1 503 "))
    let foreign = try await fixture.exchange("OPTIONS / HTTP/1.1\r\nHost: evil.example\r\nMax-Forwards: 0")
    #expect(foreign.hasPrefix("HTTP/1.1 421 "))
  }
}

/// A link whose PINGs are answered by the test.
private final class SilentLink: Upstream {
  private let loop: EmbeddedEventLoop
  private(set) var pings: [EventLoopPromise<TimeAmount>] = []

  init(on loop: EmbeddedEventLoop) { self.loop = loop }

  var patience = TimeAmount.zero
  var status: UpstreamStatus { UpstreamStatus(.idle) }

  func open() {}
  func retire() {}
  func shutDown() -> EventLoopFuture<Void> { loop.makeSucceededVoidFuture() }
  var lineStatistics: LineStatistics? { nil }

  func ping() -> EventLoopFuture<TimeAmount> {
    pings.append(loop.makePromise())
    return pings[pings.count - 1].futureResult
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    DiscardingRequestSink()
  }
}

private final class Answer: ResponseSink {
  private(set) var status: String?
  private(set) var error: BywayError?

  func informational(_ head: FieldSection) {}
  func head(_ head: FieldSection, isComplete: Bool) { status = head.value(of: .status) }
  func write(_ bytes: ByteBuffer) {}
  func finish(trailers: FieldSection?) {}
  func fail(_ error: BywayError) { self.error = error }
  func didConsumeRequest(_ bytes: Int) {}
}
