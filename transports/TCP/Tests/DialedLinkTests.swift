import Byway
import NIOCore
import Testing

@testable import TCPTransport

/// Tests the properties of a link over a network that a gateway dials.
@Suite("Dialed links over a network") struct DialedLinkTests {
  private let transports = TransportRegistry([TCPTransport(), TLSTransport()])

  @Test("an invalid jitter is refused", arguments: ["", "-1", "601", "nan", "inf", "1s"])
  func jitter(_ text: String) {
    let error = #expect(throws: BywayError.self) { try transports.link("tcp://127.0.0.1:1?jitter=\(text)") }
    #expect(error?.code == .invalidAddress)
    #expect(throws: Never.self) { try transports.link("tcp://127.0.0.1:1?jitter=2.5") }
  }

  @Test("only the dialing end keeps an idle link open")
  func idle() throws {
    func idle(_ text: String) throws -> Duration? { Liveness.ofClient.keepingOpen(try transports.link(text)).idle }
    for place in ["tcp://127.0.0.1:1", "tls://hub:1"] {
      #expect(try idle("\(place)?open=dial") == .seconds(60))
      #expect(try idle(place) == nil)
    }
  }
}
