import Byway
import BywayHTTPWire
import Testing

@testable import BywayGateway

@Suite struct RoutingRulesTests {
  private let rules = RoutingRules(
    origin: try? Authority("127.0.0.1:8000"),
    allowed: ["api.local:81", "*.dev.local:*", "[::1]:443"].compactMap { try? AllowRule($0) })

  private func target(_ fields: FieldSection) throws -> Target {
    try rules.target(of: ExchangeHead(fields: fields, isComplete: true))
  }

  @Test("a request is sent to the origin for any host in origin form")
  func origin() throws {
    #expect(try target([":method": "GET", ":scheme": "http", ":authority": "device", ":path": "/"]) == .origin)
    #expect(try target([":method": "GET", ":path": "/"]) == .origin)
    #expect(try target([":method": "GET", ":scheme": "http", ":authority": "a.dev.local", ":path": "/"]) == .origin)
  }

  @Test("a request is sent to the destination of the exact rule for its host and port")
  func exact() throws {
    #expect(
      try target([":method": "GET", ":scheme": "http", ":authority": "API.local:81", ":path": "/"])
        == .server(scheme: .http, host: .name("api.local"), port: 81))
    #expect(try target([":method": "GET", ":scheme": "http", ":authority": "api.local", ":path": "/"]) == .origin)
    #expect(
      try target([":method": "GET", ":scheme": "https", ":authority": "[::1]", ":path": "/"])
        == .server(scheme: .https, host: .ipv6(.loopback), port: 443))
  }

  @Test("a request in absolute form reaches only allowed hosts and the origin by its own name")
  func forwarded() throws {
    func forwarded(_ authority: String) throws -> Target {
      try target([
        ":method": "GET", ":scheme": "http", ":authority": authority, ":path": "/", "byway-target-form": "absolute",
      ])
    }
    #expect(try forwarded("127.0.0.1:8000") == .origin)
    #expect(try forwarded("a.dev.local:9") == .server(scheme: .http, host: .name("a.dev.local"), port: 9))
    for authority in [
      "dev.local", "evil.local", "127.0.0.1", "127.0.0.1:8001", "a.dev.local.evil", "xdev.local:1", "evilxdev.local",
    ] {
      let error = #expect(throws: BywayError.self) { try forwarded(authority) }
      #expect(error?.code == .forbidden, "\(authority)")
    }
    #expect(throws: BywayError.self) { try forwarded("") }
  }

  @Test("a tunnel reaches only the origin and allowed hosts")
  func tunnels() throws {
    func connect(_ authority: String) throws -> Target {
      try target([":method": "CONNECT", ":authority": authority])
    }
    #expect(try connect("127.0.0.1:8000") == .tunnel(host: .ipv4(0x7F00_0001), port: 8000))
    #expect(try connect("[::1]:443") == .tunnel(host: .ipv6(.loopback), port: 443))
    for authority in ["evil:443", "api.local:82", "127.0.0.1:22"] {
      #expect(throws: BywayError.self) { try connect(authority) }
    }
    for authority in ["", "host", "host:", ":80", "host:99999"] {
      let error = #expect(throws: BywayError.self) { try connect(authority) }
      #expect(error?.code == .invalidRequest, "\(authority)")
    }
  }

  @Test(
    "a request with another URL scheme goes to the origin in origin form, and is refused in absolute form",
    arguments: ["ftp", "key", "ws", ""])
  func otherSchemes(_ scheme: String) throws {
    let fields: FieldSection = [":method": "GET", ":scheme": scheme, ":authority": "api.local:81", ":path": "/"]
    var forwarded = fields
    forwarded.append(.targetForm, "absolute")
    let error = #expect(throws: BywayError.self) { try target(forwarded) }
    #expect(error?.code == .invalidRequest)
    #expect(error?.message.contains("http://") == true)
    #expect(try target(fields) == .origin)
  }

  @Test("an extended CONNECT is sent to the origin")
  func extended() throws {
    #expect(
      try target([
        ":method": "CONNECT", ":protocol": "websocket", ":scheme": "http", ":authority": "x", ":path": "/ws",
      ]) == .origin)
  }

  @Test(
    "misleading rules are refused",
    arguments: [
      "", "host", "host:", "host:0", "host:65536", ":80", "*.:80", "a*b:80", "*.*:80", "host:http",
      "::1:443", "host:+1", "user@host:80", "b\u{FC}cher.example:80", "127.1:80",
    ])
  func badRules(_ text: String) {
    #expect(throws: BywayError.self) { try AllowRule(text) }
  }
}
