import Byway
import HTTPWire
import Testing

@testable import BywayGateway

@Suite struct RoutingRulesTests {
  private let rules = RoutingRules(
    origin: ("127.0.0.1", 8000),
    allowed: ["api.local:81", "*.dev.local:*", "[::1]:443"].compactMap { try? AllowRule($0) })

  private func target(_ fields: FieldSection) throws -> Target { try rules.target(of: fields) }

  @Test("sends a request to the origin whatever host it names")
  func origin() throws {
    #expect(try target([":method": "GET", ":scheme": "http", ":authority": "device", ":path": "/"]) == .origin)
    #expect(try target([":method": "GET", ":path": "/", "host": "x y"]) == .origin)
    #expect(try target([":method": "GET", ":scheme": "http", ":authority": "a.dev.local", ":path": "/"]) == .origin)
  }

  @Test("sends a request where an exact rule names its host and port")
  func exact() throws {
    #expect(
      try target([":method": "GET", ":scheme": "http", ":authority": "API.local:81", ":path": "/"])
        == .server(scheme: "http", host: "api.local", port: 81))
    #expect(try target([":method": "GET", ":scheme": "http", ":authority": "api.local", ":path": "/"]) == .origin)
    #expect(
      try target([":method": "GET", ":scheme": "https", ":authority": "[::1]", ":path": "/"])
        == .server(scheme: "https", host: "::1", port: 443))
  }

  @Test("lets a forwarded request reach only what is allowed, and the origin by its own name")
  func forwarded() throws {
    func forwarded(_ authority: String) throws -> Target {
      try target([
        ":method": "GET", ":scheme": "http", ":authority": authority, ":path": "/", "byway-target-form": "absolute",
      ])
    }
    #expect(try forwarded("127.0.0.1:8000") == .origin)
    #expect(try forwarded("a.dev.local:9") == .server(scheme: "http", host: "a.dev.local", port: 9))
    for authority in ["dev.local", "evil.local", "127.0.0.1", "127.0.0.1:8001", "a.dev.local.evil", "xdev.local:1"] {
      let error = #expect(throws: BywayError.self) { try forwarded(authority) }
      #expect(error?.code == .forbidden, "\(authority)")
    }
    #expect(throws: BywayError.self) { try forwarded("") }
  }

  @Test("opens tunnels to the origin and to what is allowed, to nothing else")
  func tunnels() throws {
    func connect(_ authority: String) throws -> Target {
      try target([":method": "CONNECT", ":authority": authority])
    }
    #expect(try connect("127.0.0.1:8000") == .tunnel(host: "127.0.0.1", port: 8000))
    #expect(try connect("[::1]:443") == .tunnel(host: "::1", port: 443))
    for authority in ["evil:443", "api.local:82", "127.0.0.1:22"] {
      #expect(throws: BywayError.self) { try connect(authority) }
    }
    for authority in ["", "host", "host:", ":80", "host:99999"] {
      let error = #expect(throws: BywayError.self) { try connect(authority) }
      #expect(error?.code == .invalidRequest, "\(authority)")
    }
  }

  @Test("an extended CONNECT is a request for the origin")
  func extended() throws {
    #expect(
      try target([
        ":method": "CONNECT", ":protocol": "websocket", ":scheme": "http", ":authority": "x", ":path": "/ws",
      ]) == .origin)
  }

  @Test(
    "refuses rules that would allow something else than they seem to",
    arguments: ["", "host", "host:", "host:0", "host:65536", ":80", "*.:80", "a*b:80", "*.*:80", "host:http"])
  func badRules(_ text: String) {
    #expect(throws: BywayError.self) { try AllowRule(text) }
  }
}
