import Byway
import BywayHTTPWire
import BywayTLS
import HTTPTypes
import NIOCore
import Testing

@testable import BywayGateway
@testable import BywayInterceptors
@testable import BywayProxy
@testable import BywayTLS
@testable import BywayTLSInterception

/// Every component that decides by host or port must treat all spellings of an authority alike. If two components differ, a request
/// could pass the check of one and reach another target.
@Suite struct AuthorityUsersTests {
  /// Spellings of the same authority, the normalized one last.
  static let places: [[String]] = [
    ["Device.Example", "DEVICE.example.", "device.example:", "device.example"],
    ["device.EXAMPLE.:8080", "device.example:08080", "device.example:8080"],
    ["[0:0:0:0:0:0:0:1]", "[::0001]", "[0::0.0.0.1]", "[::1]"],
    ["[2001:DB8:0::A]:443", "[2001:0db8:0:0:0:0:0:000a]:0443", "[2001:db8::a]:443"],
    ["127.0.0.1.:65535", "127.0.0.1:65535"], ["XN--BCHER-KVA.example", "xn--bcher-kva.example"],
    ["My_Device", "my_device"],
    [String(repeating: "A.", count: 126) + "A", String(repeating: "a.", count: 126) + "a"],
  ]

  /// Invalid texts, each with the authority that a careless parser would find in it.
  static let others: [(text: String, place: String)] = [
    ("user@device.example", "device.example"), ("user:pw@device.example:8080", "device.example:8080"),
    ("evil.example@device.example", "device.example"), ("device.example@evil.example", "device.example"),
    ("device.example:999999", "device.example"), ("device.example:65616", "device.example:80"),
    ("device.example:+80", "device.example:80"), ("device.example:80:81", "device.example:80"),
    ("device.example:8o", "device.example"), ("device.example..", "device.example"),
    (".device.example", "device.example"),
    ("device%2Eexample", "device.example"), ("%64evice.example", "device.example"),
    ("b\u{FC}cher.example", "xn--bcher-kva.example"), ("\u{FF44}evice.example", "device.example"),
    ("device\u{3002}example", "device.example"), ("device.example\\", "device.example"),
    ("device.example,evil", "device.example"), (String(repeating: "a.", count: 149) + "a", "a"), ("[::1", "[::1]"),
    ("[::1]x", "[::1]"), ("[::1%25lo]", "[::1]"), ("[::1%lo]:80", "[::1]:80"), ("[127.0.0.1]", "127.0.0.1"),
    ("127.1", "127.0.0.1"), ("2130706433", "127.0.0.1"), ("0x7f.0.0.1", "127.0.0.1"), ("0177.0.0.1", "127.0.0.1"),
    ("127.0.0.1.1", "127.0.0.1"),
  ]

  struct User: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Whether the component distinguishes authorities; others only validate them.
    var decides = true
    /// Whether the component takes a spelling as that authority.
    let takes: @Sendable (_ spelling: String, _ place: Authority) throws -> Bool
  }

  static let users: [User] = [
    User(testDescription: "the grammar of HTTP/1.1", decides: false) { text, _ in
      Array(text.utf8).withUnsafeBytes { FieldGrammar.isAuthority($0) }
    },
    User(testDescription: "the address of a link") { text, place in
      // A link address may contain a user and a zone there.
      guard !text.contains("@"), !text.contains("%"), let read = LinkAddress.HostPort(text) else { return false }
      return try Host(read.host) == place.host && read.port == place.port.map(Int.init)
    },
    User(testDescription: "a request's URL", decides: false) { text, _ in (try? Request(url: "http://\(text)/")) != nil
    },
    User(testDescription: "an interceptor's scope") { text, place in
      let request = HTTPRequest(method: .get, scheme: "http", authority: text, path: "/")
      let scope = Scope(hosts: [place.host.text])
      #expect(scope.contains(request) == scope.contains(ExchangeHead(fields: FieldSection(request), isComplete: true)))
      return scope.contains(request)
    },
    User(testDescription: "a scope in that spelling") { text, place in
      guard let host = hostText(of: text) else { return false }
      return Scope(hosts: [host]).contains(HTTPRequest(method: .get, scheme: "http", authority: "\(place)", path: "/"))
    },
    User(testDescription: "a canonical URI") { text, place in
      CanonicalURI.authority(text, scheme: "key") == "\(place)"
    },
    User(testDescription: "a cache's key") { text, place in
      let target = TargetURI(scheme: "http", authority: text, path: "/")
      return target.hasOrigin(of: .init(scheme: "http", authority: "\(place)", path: "/x"))
    },
    User(testDescription: "a redirect") { text, place in
      let request = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/")
      let response = HTTPResponse(status: .found, headerFields: [.location: "http://\(text)/x"])
      return RedirectRule(response, to: request)?.request(after: Request(request)).head.authority
        == place.text(for: "http")
    },
    User(testDescription: "a proxy's name", decides: false) { text, place in
      let rules = try HostRules(names: ["\(place)"])
      return admits(rules, text)
    },
    User(testDescription: "a proxy's name in that spelling", decides: false) { text, place in
      guard let rules = try? HostRules(names: [text]) else { return false }
      return admits(rules, "\(place)")
    },
    User(testDescription: "an origin's certificates") { text, place in
      guard let host = hostText(of: text) else { return false }
      return ServerTrust.key(host) == place.host.text
    },
    User(testDescription: "a peer's address") { text, place in
      guard let peer = try? PeerName(host: "a", dial: text) else { return false }
      return peer.dial == place
    },
    User(testDescription: "a tunnel's scope") { text, place in
      let request = HTTPRequest(method: .get, scheme: "https", authority: text, path: "/")
      return EndToEndTLS(hosts: [place.host.text]).scope.contains(request)
    },
    User(testDescription: "inspection") { text, place in
      guard let target = try? Authority(text) else { return false }
      return try TLSInterceptor(of: [.exactly(place.host)], by: LocalAuthority(name: "x")).terminates(target.host)
    },
    User(testDescription: "a gateway's rules") { text, place in
      let port = place.port ?? 80
      let rules = RoutingRules(origin: nil, allowed: [try AllowRule("\(place.host.bracketed):\(port)")])
      let request: FieldSection = [":method": "GET", ":scheme": "http", ":authority": text, ":path": "/"]
      return (try? rules.target(of: ExchangeHead(fields: request, isComplete: true)))
        == .server(scheme: .http, host: place.host, port: port)
    },
    User(testDescription: "a gateway's rule in that spelling") { text, place in
      let host = place.port == nil ? hostText(of: text) : nil
      guard let rule = try? AllowRule(host.map { "\($0):80" } ?? text) else { return false }
      return rule.permits(place.host, port: place.port ?? 80)
    },
    User(testDescription: "a gateway's own origin") { text, place in
      guard !text.contains("@"), !text.contains("%") else { return false }
      return (try? Origin("http://\(text)"))?.authority == Authority(place.host, port: place.port ?? 80)
    },
  ]

  @Test("every component accepts each spelling of the same authority", arguments: users)
  func same(_ user: User) throws {
    for spellings in Self.places {
      let place = try Authority(#require(spellings.last))
      for spelling in spellings { #expect(try user.takes(spelling, place), "\(spelling)") }
    }
  }

  @Test("every component distinguishes different authorities", arguments: users.filter(\.decides))
  func different(_ user: User) throws {
    for spellings in Self.places {
      let place = try Authority(#require(spellings.last))
      for other in Self.places where other != spellings {
        let isHostOnly = try Authority(#require(other.last)).host == place.host
        for spelling in other where !isHostOnly { #expect(try !user.takes(spelling, place), "\(spelling)") }
      }
    }
  }

  @Test("no component accepts an invalid authority", arguments: users)
  func none(_ user: User) throws {
    for (text, place) in Self.others { #expect(try !user.takes(text, Authority(place)), "\(text)") }
  }

  /// Returns the host part of a spelling, with its errors; `nil` if only the port is wrong.
  private static func hostText(of text: String) -> String? {
    if text.hasPrefix("["), let close = text.lastIndex(of: "]") {
      let rest = text[text.index(after: close)...]
      if !rest.isEmpty, !rest.hasPrefix(":") { return text }
      return rest.dropFirst().allSatisfy(\.isNumber) ? String(text[...close]) : nil
    }
    guard !text.contains("@"), let colon = text.firstIndex(of: ":") else { return text }
    let port = text[text.index(after: colon)...]
    return port.isEmpty || (port.allSatisfy(\.isNumber) && UInt16(port) != nil) ? String(text[..<colon]) : nil
  }

  private static func admits(_ rules: HostRules, _ authority: String) -> Bool {
    // Loopback hosts are accepted under any name.
    var request = ExchangeHead(
      fields: [":method": "GET", ":scheme": "http", ":authority": authority, ":path": "/"], isComplete: true)
    return (try? rules.target(of: &request, port: 1)) != nil
  }
}
