import Foundation
import FoundationNetworking
import Testing

@testable import BywayURLSession

/// RFC 6265 §5.2 and §5.3.
@Suite struct SetCookieTests {
  private let now = Date(timeIntervalSince1970: 1_900_000_000)

  private func cookie(_ field: String, from host: String, at path: String = "/") -> HTTPCookie? {
    SetCookie(field)?.cookie(from: host, at: path, now: now)
  }

  @Test(
    "a host may set cookies for its own domains only, and they apply to matching hosts",
    arguments: [
      ("device.example", nil, "device.example"), ("a.device.example", "device.example", ".device.example"),
      ("a.device.example", ".Device.Example", ".device.example"), ("a.device.example", "", "a.device.example"),
      ("device.example", "device.example", ".device.example"), ("a.co.uk", "a.co.uk", ".a.co.uk"),
      // Another host's domain.
      ("device", ".swift.org", nil), ("device.example", "a.device.example", nil),
      ("evice.example", "device.example", nil),
      ("bad-device.example", "device.example", nil), ("device.example", "other.example", nil),
      ("device.example", "example", nil), ("device.example", "..example", nil),
      ("device.example", ".", "device.example"),
      // Public suffixes belong to no site, except to a host with that very name.
      ("device.com", "com", nil), ("a.co.uk", "co.uk", nil), ("a.github.io", "github.io", nil),
      ("github.io", "github.io", "github.io"), ("device", "device", "device"), ("panel.local", "local", nil),
      // IP addresses have no subdomains.
      ("127.0.0.1", "0.0.1", nil), ("127.0.0.1", "127.0.0.1", "127.0.0.1"), ("127.0.0.1", nil, "127.0.0.1"),
      ("a.ü", "ü", nil),
    ] as [(String, String?, String?)])
  func domain(_ host: String, _ domain: String?, _ kept: String?) {
    #expect(cookie("a=1" + (domain.map { "; Domain=\($0)" } ?? ""), from: host)?.domain == kept)
  }

  @Test("the last of repeated cookie attributes counts, and an invalid cookie is ignored")
  func attributes() {
    #expect(cookie("a=1; domain=c.d.example; DOMAIN=d.example", from: "c.d.example")?.domain == ".d.example")
    #expect(cookie("a=1, b=2; Path=/x; path=/y", from: "d")?.value == "1, b=2")
    #expect(cookie("a=1; Path=/x; path=/y", from: "d")?.path == "/y")
    for text in ["", "a", "=1", "; a=1", "a=" + String(repeating: "x", count: 5000)] { #expect(SetCookie(text) == nil) }
  }

  @Test(
    "a cookie's default path is the folder of the request's path (§5.1.4)",
    arguments: [
      ("/", "/"), ("/a", "/"), ("/a/b", "/a"), ("/a/b/?x=/y", "/a/b"), ("x", "/"),
    ])
  func path(_ asked: String, _ path: String) {
    #expect(cookie("a=1", from: "d", at: asked)?.path == path)
    #expect(cookie("a=1; Path=x", from: "d", at: asked)?.path == path)
  }

  @Test("Max-Age takes precedence over Expires, and both end a cookie")
  func expiry() {
    #expect(cookie("a=1", from: "d")?.expiresDate == nil)
    #expect(cookie("a=1; Max-Age=5; Expires=Wed, 09 Jun 2055 10:18:14 GMT", from: "d")?.expiresDate == now + 5)
    #expect(cookie("a=1; Max-Age=-1", from: "d")?.expiresDate.map { $0 < now } == true)
    #expect(cookie("a=1; Max-Age=x", from: "d")?.expiresDate == nil)
    let date = cookie("a=1; Expires=Wed, 09 Jun 2055 10:18:14 GMT", from: "d")?.expiresDate
    #expect(date == Date(timeIntervalSince1970: 2_696_149_094))
  }
}
