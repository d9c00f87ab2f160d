import BywayHTTPWire
import Testing

@Suite("Field capitalization")
struct FieldCapitalizationTests {
  @Test(
    "a lower-case field name gets its usual capitalization",
    arguments: [
      "Host", "X-Serial", "Content-Type", "WWW-Authenticate", "Proxy-Authenticate", "ETag", "TE", "Set-Cookie", "DNT",
      "Content-MD5", "Sec-WebSocket-Key", "Sec-WebSocket-Accept", "Last-Event-ID", "X-XSS-Protection", "SOAPAction",
      "X-Real-IP", "X-Forwarded-For", "MIME-Version", "HTTP2-Settings", "Sec-CH-UA-WoW64", "If-None-Match", "Via",
      "DPoP",
      "P3P", "NEL", "CDN-Loop", "A-IM", "X-9-Lives", "_private", "X--Two", "X-", "-X", "Tea", "X-WWW",
    ])
  func spelling(_ expected: String) {
    #expect(FieldCapitalization.usual(expected.lowercased()) == expected)
  }

  @Test("an empty field name stays empty")
  func empty() {
    #expect(FieldCapitalization.usual("").isEmpty)
  }

  @Test("bytes other than letters stay unchanged")
  func otherBytes() {
    #expect(FieldCapitalization.usual("é-{x-`x") == "é-{x-`x")
  }
}
