import Byway
import BywayHTTPWire
import Testing

@testable import BywayGateway

/// A site whose origin receives its own name.
@Suite("Translation of a site's names") struct SiteTranslationTests {
  private let client: SiteName
  private let own: SiteName
  private var translation: SiteTranslation { SiteTranslation(client: client, own: own) }

  init() throws {
    client = SiteName(scheme: "https", try Authority("Printer.localhost:8443"))
    own = SiteName(scheme: "http", try Authority("printer.lan.example:631"))
  }

  private func request(_ name: String, _ value: String) -> String? {
    var fields: FieldSection = [":method": "GET", ":scheme": "https", ":authority": "printer.localhost:8443"]
    fields.append(name: name, value: value)
    translation.translateRequest(&fields)
    return fields.lines.first { fields.name(of: $0) == name }.map(fields.value)
  }

  private func response(_ name: String, _ value: String) -> String? {
    var fields: FieldSection = [":status": "200", "x-before": "1"]
    fields.append(name: name, value: value)
    fields.append(name: "x-after", value: "2")
    translation.translateResponse(&fields)
    #expect(fields.lines.count == 4 && fields.name(of: fields.lines[2]) == name)
    return fields.value(of: fields.lines[2])
  }

  @Test("a request to the origin has the origin's own scheme and authority")
  func target() {
    var fields: FieldSection = [":method": "GET", ":scheme": "https", ":authority": "printer.localhost:8443", "a": "b"]
    translation.translateRequest(&fields)
    #expect(fields.value(of: .authority) == "printer.lan.example:631" && fields.value(of: .scheme) == "http")
    #expect(fields.lines.count { $0.field == .authority } == 1)
  }

  @Test(
    "names of the client's site in a request become the origin's, and other names stay",
    arguments: [
      ("origin", "https://printer.localhost:8443", "http://printer.lan.example:631"),
      ("origin", "HTTPS://PRINTER.localhost.:8443", "http://printer.lan.example:631"),
      (
        "referer", "https://printer.localhost:8443/a?b=https://printer.localhost:8443/",
        "http://printer.lan.example:631/a?b=https://printer.localhost:8443/"
      ),
      ("destination", "https://printer.localhost:8443/dav/x", "http://printer.lan.example:631/dav/x"),
      ("origin", "http://printer.localhost:8443", nil), ("origin", "https://printer.localhost", nil),
      ("origin", "https://evil.example", nil), ("origin", "https://printer.localhost:8443.evil.example", nil),
      ("origin", "https://evil@printer.localhost:8443", nil), ("origin", "null", nil), ("origin", "", nil),
      ("origin", "http://printer.lan.example", nil), ("origin", "printer.lan.example:631", nil),
      ("referer", "http:printer.lan.example:631", nil),
      ("origin", "http://printer.lan.example:631", "null"), ("origin", "https://PRINTER.lan.example.:631", "null"),
      ("referer", "http://printer.lan.example:631/a", "about:blank"),
      ("destination", "http://printer.lan.example:631/a", nil),
      (
        "if",
        "<https://printer.localhost:8443/a> (<urn:x> [\"e)\"]) <https://printer.localhost:8443> (Not <DAV:no-lock>)",
        "<http://printer.lan.example:631/a> (<urn:x> [\"e)\"]) <http://printer.lan.example:631> (Not <DAV:no-lock>)"
      ),
      ("if", "([\"e)\"] <https://printer.localhost:8443/lock>) ([\"<https://printer.localhost:8443>\"])", nil),
      ("if", "</a> (<urn:x>)", nil), ("if", "<https://other.example/> (<urn:x>)", nil), ("if", "<", nil),
      ("origin", "https:printer.localhost:8443", nil), ("origin", "https:/", nil), ("origin", "https://", nil),
      ("referer", "https://evil.example/https://printer.localhost:8443/", nil),
      ("location", "https://printer.localhost:8443/", nil), ("x-origin", "https://printer.localhost:8443", nil),
    ])
  func requests(_ name: String, _ value: String, _ expected: String?) {
    #expect(request(name, value) == expected ?? value)
  }

  @Test(
    "names of the origin in a response become the client's, and other names stay",
    arguments: [
      ("location", "http://printer.lan.example:631/a#b", "https://printer.localhost:8443/a#b"),
      ("location", "http://printer.lan.example:631", "https://printer.localhost:8443"),
      ("location", "http://printer.lan.example:631?q", "https://printer.localhost:8443?q"),
      ("location", "//printer.lan.example:631/a", "//printer.localhost:8443/a"),
      ("content-location", "http://PRINTER.lan.example.:631/a", "https://printer.localhost:8443/a"),
      ("location", "/a", nil), ("location", "a:b", nil), ("location", "https://printer.lan.example:631/", nil),
      ("location", "http://printer.lan.example/", nil), ("location", "http://other.example:631/", nil),
      ("location", "http://printer.lan.example:6310/", nil), ("location", "//other.example/", nil),
      ("location", "", nil),
      ("refresh", "5; url=http://printer.lan.example:631/a", "5; url=https://printer.localhost:8443/a"),
      ("refresh", "0;URL='http://printer.lan.example:631/a'", "0;URL='https://printer.localhost:8443/a'"),
      ("refresh", "5", nil), ("refresh", "5; url=", nil), ("refresh", "5; url=/a", nil),
      ("refresh", "5; url=http://other.example/", nil),
      (
        "link",
        "<http://printer.lan.example:631/1>; rel=prev, <http://other.example/>, <http://printer.lan.example:631>",
        "<https://printer.localhost:8443/1>; rel=prev, <http://other.example/>, <https://printer.localhost:8443>"
      ),
      ("link", "</a>; rel=next", nil), ("x-location", "http://printer.lan.example:631/a", nil),
      ("origin", "http://printer.lan.example:631", nil),
      ("set-cookie", "a=1; Domain=printer.lan.example; Path=/", "a=1; Domain=printer.localhost; Path=/"),
      ("set-cookie", "a=1;domain = .PRINTER.lan.example", "a=1; Domain=printer.localhost"),
      ("set-cookie", "a=1; Domain=lan.example; Path=/", "a=1; Path=/"),
      ("set-cookie", "a=1; Domain=an.example", nil), ("set-cookie", "Domain=printer.lan.example", nil),
      ("set-cookie", "a=1; Domain=other.example", nil), ("set-cookie", "a=1; Domain=", nil), ("set-cookie", "a=1", nil),
      ("set-cookie", "a=1; Domain", nil), ("set-cookie", "a=1; Path=printer.lan.example", nil),
    ])
  func responses(_ name: String, _ value: String, _ expected: String?) {
    #expect(response(name, value) == expected ?? value)
  }

  @Test("a page of the user's own machine does not pass as one of an origin on a Unix socket")
  func localPages() throws {
    let own = try #require(HostField("origin").ownName(of: Origin("unix:/run/x.sock")))
    for (origin, expected) in [
      ("http://localhost", "null"), ("https://localhost", "null"), ("http://localhost:80", "null"),
      ("http://localhost:8080", "http://localhost"), ("http://localhost:3000", "http://localhost:3000"),
    ] {
      var fields: FieldSection = [":method": "GET", ":scheme": "http", ":authority": "localhost:8080"]
      fields.append(.origin, origin)
      let client = try #require(SiteName(of: ExchangeHead(fields: fields, isComplete: true)))
      SiteTranslation(client: client, own: own).translateRequest(&fields)
      #expect(fields.value(of: .origin) == expected)
    }
  }

  @Test("every cookie's domain is translated, and a sensitive field stays sensitive")
  func cookies() {
    var fields: FieldSection = [":status": "200", "set-cookie": "a=1; Domain=printer.lan.example", "set-cookie": "b=2"]
    let secret = "c=3; Domain=lan.example"
    secret.utf8.withContiguousStorageIfAvailable { value in
      "set-cookie".utf8.withContiguousStorageIfAvailable {
        fields.append(name: .init($0), value: .init(value), isSensitive: true)
      }
    }
    translation.translateResponse(&fields)
    #expect(
      fields.lines.dropFirst().map(fields.value) == ["a=1; Domain=printer.localhost", "b=2", "c=3"])
    #expect(fields.lines.map(\.isSensitive) == [false, false, false, true])
  }

  @Test("a cookie for an IP address loses its domain, since an address has no subdomains")
  func addresses() throws {
    let translation = SiteTranslation(
      client: SiteName(scheme: "http", try Authority("127.0.0.1:8080")),
      own: SiteName(scheme: "http", try Authority("192.0.2.1")))
    var fields: FieldSection = [
      ":status": "302", "set-cookie": "a=1; Domain=192.0.2.1", "location": "http://192.0.2.1:80/",
    ]
    translation.translateResponse(&fields)
    #expect(fields == [":status": "302", "set-cookie": "a=1", "location": "http://127.0.0.1:8080/"])
  }

  @Test(
    "the origin's own name comes from its address or the option",
    arguments: [
      ("origin", "http://printer:631", "http printer:631"), ("origin", "http://printer:80", "http printer"),
      ("origin", "https://[fd00::1]", "https [fd00::1]"), ("origin", "h2c://printer:443", "http printer:443"),
      ("origin", "unix:/run/x.sock", "http localhost"), ("origin", "h2c+unix:/run/x.sock", "http localhost"),
      ("cups.lan", "unix:/run/x.sock", "http cups.lan"), ("cups.lan:81", "https://printer", "https cups.lan:81"),
      ("client", "http://printer:631", nil),
    ])
  func ownNames(_ field: String, _ origin: String, _ expected: String?) throws {
    let name = try HostField(field).ownName(of: Origin(origin))
    #expect(name.map { "\($0.scheme) \($0.authorityText)" } == expected)
  }

  @Test("an invalid host is refused", arguments: ["", "a b", "u@host", "host:port", "Origin "])
  func noHost(_ text: String) {
    #expect(throws: BywayError.self) { try HostField(text) }
  }
}
