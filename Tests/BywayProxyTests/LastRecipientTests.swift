import Byway
import HTTPTypes
import NIOCore
import Testing

/// Max-Forwards (RFC 9110 §7.6.2).
@Suite("How far OPTIONS and TRACE go") struct LastRecipientTests {
  private func head(_ method: String, _ fields: String, _ proxy: ProxyFixture) async throws -> String {
    try await proxy.exchange("\(method) /x HTTP/1.1\r\nHost: localhost\r\n\(fields)")
  }

  @Test("at 0 the proxy answers OPTIONS itself, with a round trip over its link")
  func last() async throws {
    let fixture = try await ProxyFixture()
    let answer = try await head("OPTIONS", "Max-Forwards: 0", fixture)
    #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
    let match = try #require(answer.firstMatch(of: /server-timing: link;dur=([0-9.]+)\r\n/.ignoresCase()), "\(answer)")
    #expect(Double(match.1).map { (0..<10_000).contains($0) } == true)
    #expect(try await head("TRACE", "Max-Forwards: 0", fixture).hasPrefix("HTTP/1.1 501 "))
    await fixture.stop()
  }

  @Test("above it takes one off, and leaves other methods alone")
  func counts() async throws {
    let fixture = try await ProxyFixture(respond: { request in
      let name = try #require(HTTPField.Name("Max-Forwards"))
      return Response(status: .ok, body: Body("left: \(request.head.headerFields[name] ?? "none")"))
    })
    #expect(try await head("OPTIONS", "Max-Forwards: 3", fixture).hasSuffix("left: 2"))
    #expect(try await head("GET", "Max-Forwards: 0", fixture).hasSuffix("left: 0"))
    #expect(try await head("OPTIONS", "Max-Forwards: -1", fixture).hasSuffix("left: -1"))
    #expect(try await head("OPTIONS", "X: y", fixture).hasSuffix("left: none"))
    await fixture.stop()
  }

  @Test("a link that is down is told, and a stranger's host still refused")
  func refused() async throws {
    let fixture = try await ProxyFixture(respond: nil)
    #expect(try await head("OPTIONS", "Max-Forwards: 0", fixture).hasPrefix("HTTP/1.1 503 "))
    let foreign = try await fixture.exchange("OPTIONS / HTTP/1.1\r\nHost: evil.example\r\nMax-Forwards: 0")
    #expect(foreign.hasPrefix("HTTP/1.1 421 "))
    await fixture.stop()
  }
}
