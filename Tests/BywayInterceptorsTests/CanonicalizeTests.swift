import Byway
import BywayInterceptors
import HTTPTypes
import Testing

@Suite struct CanonicalizeTests {
  @Test(
    "equivalent URLs become one spelling (RFC 3986 §6.2)",
    arguments: [
      ("HTTP", "Example.COM", "", "http", "example.com", "/"),
      ("http", "example.com:80", "/", "http", "example.com", "/"),
      ("https", "example.com:443", "/", "https", "example.com", "/"),
      ("https", "example.com:80", "/", "https", "example.com:80", "/"),
      ("http", "example.com:", "/", "http", "example.com", "/"),
      ("http", "[2001:DB8::1]:80", "/", "http", "[2001:db8::1]", "/"),
      ("http", "[0:0::1].", "/", "http", "[0:0::1].", "/"),
      ("http", "example.com.:80", "/", "http", "example.com", "/"),
      ("http", "[0:0::1]:8", "/", "http", "[::1]:8", "/"),
      ("http", "ex%61mple.com", "/", "http", "ex%61mple.com", "/"),
      ("http", "user:pass@example.com", "/", "http", "@example.com", "/"),
      ("http", "a", "/%7euser/%2fx/%c3%a4", "http", "a", "/~user/%2Fx/%C3%A4"),
      ("http", "a", "/a/b/c/./../../g", "http", "a", "/a/g"),
      ("http", "a", "/a/%2E%2e/g", "http", "a", "/g"),
      ("http", "a", "/../../g", "http", "a", "/g"),
      ("http", "a", "/a/..", "http", "a", "/"),
      ("http", "a", "/a/.", "http", "a", "/a/"),
      ("http", "a", "/a//b/../c", "http", "a", "/a//c"),
      ("http", "a", "/..a/b..", "http", "a", "/..a/b.."),
      ("http", "a", "?q=../x", "http", "a", "/?q=../x"),
      ("http", "a", "/?q=%7e%2b+ä\"", "http", "a", "/?q=~%2B+%C3%A4%22"),
      ("http", "a", "/100%/%zz/%4", "http", "a", "/100%/%zz/%4"),
      ("http", "a", "/x#fragment", "http", "a", "/x"),
      ("key", "Vault:80", "/A", "key", "vault:80", "/A"),
    ])
  func spellings(
    _ scheme: String, _ authority: String, _ path: String, _ toScheme: String, _ toAuthority: String, _ toPath: String
  ) {
    let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
    let canonical = Canonicalize().canonical(request)
    #expect(canonical.scheme == toScheme)
    #expect(canonical.authority == toAuthority)
    #expect(canonical.path == toPath)
    #expect(Canonicalize().canonical(canonical) == canonical)
  }

  @Test("a CONNECT target keeps its port and has no path, and the asterisk form stays")
  func exceptions() {
    let tunnel = HTTPRequest(method: .connect, scheme: nil, authority: "Host:443", path: nil)
    #expect(Canonicalize().canonical(tunnel).authority == "host:443")
    #expect(Canonicalize().canonical(tunnel).path == nil)
    let options = HTTPRequest(method: .options, scheme: "http", authority: "a", path: "*")
    #expect(Canonicalize().canonical(options).path == "*")
  }

  @Test("missing fields get defaults, and others stay")
  func defaults() async throws {
    let origin = TestOrigin()
    let chain = origin.behind(Canonicalize(defaults: [.accept: "*/*", .userAgent: "byway"]))
    _ = try await chain.get("HTTP://A", [.userAgent: "mine"])
    let head = try #require(origin.heads.first)
    #expect(head.headerFields[.accept] == "*/*")
    #expect(head.headerFields[values: .userAgent] == ["mine"])
    #expect(head.path == "/")
  }
}
