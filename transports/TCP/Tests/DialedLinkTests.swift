import Byway
import NIOCore
import Testing

@testable import TCPTransport

/// What a link has of its own where a gateway dials it over a network.
@Suite("A link over a network that is dialed") struct DialedLinkTests {
  private let transports = TransportRegistry([TCPTransport(), TLSTransport()])

  @Test("a jitter that is no time is refused", arguments: ["", "-1", "601", "nan", "inf", "1s"])
  func jitter(_ text: String) {
    let error = #expect(throws: BywayError.self) { try transports.link("tcp://127.0.0.1:1?jitter=\(text)") }
    #expect(error?.code == .invalidAddress)
    #expect(throws: Never.self) { try transports.link("tcp://127.0.0.1:1?jitter=2.5") }
  }

  @Test("only the end that dials keeps it open while nothing runs")
  func idle() throws {
    func idle(_ text: String) throws -> TimeAmount? { Liveness.ofClient.keepingOpen(try transports.link(text)).idle }
    for place in ["tcp://127.0.0.1:1", "tls://hub:1"] {
      #expect(try idle("\(place)?open=dial") == .seconds(60))
      #expect(try idle(place) == nil)
    }
  }
}
