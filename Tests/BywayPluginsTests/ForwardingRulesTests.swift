import Byway
import HTTPTypes
import Testing

@testable import BywayPlugins

/// The changes that a plugin may make to a request that it sends on, and in its response.
@Suite("Rules for the messages of plugins") struct ForwardingRulesTests {
  private static func field(_ name: String) -> HTTPField.Name { HTTPField.Name(name) ?? .from }

  private static func request(_ fields: [(String, String)] = [], host: String? = "a.example") -> HTTPRequest {
    var head = HTTPRequest(method: .get, scheme: "https", authority: host, path: "/x")
    for (name, value) in fields { head.headerFields.append(HTTPField(name: field(name), value: value)) }
    return head
  }

  private func forwarded(
    _ sent: HTTPRequest, of original: HTTPRequest = request(), hosts: [String] = []
  ) throws -> HTTPRequest {
    try ForwardingRules(hosts: hosts).forwarded(sent, of: original)
  }

  private func reason(
    _ sent: HTTPRequest, of original: HTTPRequest = request(), hosts: [String] = []
  ) -> String? {
    do throws(ForwardingRules.Refusal) {
      _ = try ForwardingRules(hosts: hosts).forwarded(sent, of: original)
      return nil
    } catch {
      return error.reason
    }
  }

  @Test("method, path, host and fields are the plugin's choice; scheme, form and credentials remain the client's")
  func changes() throws {
    var original = Self.request([
      ("proxy-authorization", "Basic x"), ("byway-target-form", "absolute"), ("byway-exchange", "old"),
    ])
    original.headerFields[.cookie] = "a=b"
    var sent = Self.request(
      [("byway-exchange", "1"), ("byway-next", "unix:/n"), ("x-own", "yes"), ("byway-target-form", "forged")],
      host: "b.example:81")
    sent.method = .post
    sent.scheme = "http"
    sent.path = "/y"
    let head = try forwarded(sent, of: original)
    #expect(head.method == .post && head.path == "/y" && head.authority == "b.example:81" && head.scheme == "https")
    #expect(
      head.headerFields.map { "\($0.name)=\($0.value)" }.sorted() == [
        "byway-target-form=absolute", "proxy-authorization=Basic x", "x-own=yes",
      ])
  }

  @Test("a plugin with hosts in its scope sends nothing to others")
  func hosts() {
    let hosts = ["a.example", "*.b.example"]
    for host in ["a.example", "a.example:8080", "x.b.example"] {
      #expect(reason(Self.request(host: host), hosts: hosts) == nil)
    }
    #expect(
      reason(Self.request(host: "evil.example"), hosts: hosts)
        == "it has sent a request for the host evil.example on, and its scope is a.example, *.b.example")
    #expect(reason(Self.request(host: "b.example"), hosts: hosts)?.contains("b.example") == true)
    #expect(reason(Self.request(host: nil), hosts: hosts)?.contains("no host") == true)
    #expect(reason(Self.request(host: nil)) == nil)
  }

  @Test(
    "fields of the framing and of one connection are refused, with their names",
    arguments: [
      ("transfer-encoding", "chunked"), ("connection", "close"), ("keep-alive", "timeout=5"),
      ("proxy-connection", "close"), ("upgrade", "h2c"), ("te", "gzip"),
    ])
  func connectionFields(_ name: String, _ value: String) {
    #expect(reason(Self.request([(name, value)]))?.contains(name) == true)
  }

  @Test("te: trailers, and one length, are passed on")
  func harmless() throws {
    let head = try forwarded(Self.request([("te", "Trailers"), ("content-length", "12")]))
    #expect(head.headerFields[Self.field("te")] == "Trailers" && head.headerFields[.contentLength] == "12")
  }

  @Test(
    "a length that is not one number is refused",
    arguments: [["x"], [""], ["-1"], ["+1"], ["1x"], ["1,1"], ["1 2"], ["٣"], ["1", "2"], ["1", "1"]])
  func lengths(_ values: [String]) {
    #expect(
      reason(Self.request(values.map { ("content-length", $0) })) == "its content-length is not one number")
  }

  @Test("a request does not become a tunnel, nor a tunnel a request; a WebSocket stays one")
  func tunnels() throws {
    let tunnel = HTTPRequest(method: .connect, scheme: nil, authority: "a.example:443", path: nil)
    #expect(reason(tunnel) == "it has changed the method GET to CONNECT")
    #expect(reason(Self.request(), of: tunnel) == "it has changed the method CONNECT to GET")
    #expect(reason(tunnel, of: tunnel) == nil)
    var socket = HTTPRequest(method: .connect, scheme: "https", authority: "a.example", path: "/x")
    socket.extendedConnectProtocol = "websocket"
    #expect(reason(socket) == nil && reason(Self.request(), of: socket) == nil)
    socket.headerFields[.contentLength] = "1"
    #expect(reason(socket, of: socket) == "it has added content-length to a tunnel")
  }

  @Test("credentials for the proxy are refused, even the client's own")
  func credentials() {
    let own = Self.request([("proxy-authorization", "Basic x")])
    #expect(reason(own, of: own)?.contains("proxy-authorization") == true)
  }

  @Test("fields of Byway may be left out, and not be added or changed")
  func ownFields() {
    let original = Self.request([("byway-accept-coding", "gzip")])
    #expect(reason(original, of: original) == nil)
    #expect(reason(Self.request(), of: original) == nil)
    #expect(
      reason(Self.request([("byway-accept-coding", "br")]), of: original)?.contains("byway-accept-coding") == true)
    for name in ["byway-user", "BYWAY-note"] {
      #expect(reason(Self.request([(name, "root")]))?.contains(name.lowercased()) == true)
    }
    // The serving connection sets these.
    #expect(reason(Self.request([("byway-upgrade-method", "GET"), ("byway-upgrade-length", "1")])) == nil)
  }

  @Test("a response has no fields of Byway except notes, and those that the next hop has sent")
  func responses() throws {
    let rules = ForwardingRules(hosts: [])
    let coding = HTTPField(name: Self.field("byway-coding"), value: "gzip")
    try rules.check(response: [.contentType: "x", .note: "hello"], vouched: [])
    try rules.check(response: [coding.name: "gzip"], vouched: [coding])
    #expect(throws: ForwardingRules.Refusal.self) { try rules.check(response: [coding.name: "br"], vouched: [coding]) }
    #expect(
      throws: ForwardingRules.Refusal("its response has the field byway-coding, which belongs to Byway")
    ) { try rules.check(response: [coding.name: "gzip"], vouched: []) }
  }

  @Test("a forged form of the target is removed, and all credentials of the client remain")
  func restored() throws {
    let original = Self.request([("proxy-authorization", "Basic x"), ("proxy-authorization", "Basic y")])
    let sent = Self.request([
      ("byway-target-form", "absolute"), ("byway-next", "unix:/elsewhere"), ("byway-next", "unix:/n"), ("x-own", "1"),
    ])
    let head = try forwarded(sent, of: original)
    #expect(
      head.headerFields.map { "\($0.name)=\($0.value)" } == [
        "x-own=1", "proxy-authorization=Basic x", "proxy-authorization=Basic y",
      ])
  }

  @Test("the order and the repetition of a plugin's fields are passed on")
  func order() throws {
    let fields = [("x-b", "1"), ("x-a", "2"), ("x-b", "3"), ("cookie", "a=b"), ("cookie", "c=d")]
    let head = try forwarded(Self.request(fields))
    #expect(head.headerFields.map { "\($0.name)=\($0.value)" } == fields.map { "\($0.0)=\($0.1)" })
  }

  @Test("a forbidden value is found after an allowed one")
  func secondValues() {
    #expect(reason(Self.request([("te", "trailers"), ("te", "gzip")]))?.contains("te: gzip") == true)
    let original = Self.request([("byway-accept-coding", "gzip"), ("byway-accept-coding", "br")])
    #expect(reason(Self.request([("byway-accept-coding", "br")]), of: original) == nil)
    #expect(
      reason(Self.request([("byway-accept-coding", "gzip"), ("byway-accept-coding", "zstd")]), of: original) != nil)
    #expect(reason(Self.request([("byway-exchange", "1"), ("byway-user", "root")]))?.contains("byway-user") == true)
    // A value of another field does not count.
    #expect(reason(Self.request([("byway-other", "gzip")]), of: original)?.contains("byway-other") == true)
  }

  @Test("an upgrade or a WebSocket does not become a tunnel, and a tunnel has no length")
  func upgrades() {
    let tunnel = HTTPRequest(method: .connect, scheme: nil, authority: "a.example:443", path: nil)
    var socket = HTTPRequest(method: .connect, scheme: "https", authority: "a.example", path: "/x")
    socket.extendedConnectProtocol = "websocket"
    #expect(reason(tunnel, of: socket) == "it has changed the method CONNECT to CONNECT")
    #expect(reason(socket, of: tunnel) == "it has changed the method CONNECT to CONNECT")
    var long = tunnel
    long.headerFields[.contentLength] = "0"
    #expect(reason(long, of: tunnel) == "it has added content-length to a tunnel")
    #expect(reason(tunnel, of: tunnel, hosts: ["b.example"])?.contains("a.example") == true)
  }

  @Test(
    "each field of a response is checked, also after allowed ones, and each of several values of the next hop counts")
  func laterFields() throws {
    let rules = ForwardingRules(hosts: [])
    let (coding, status) = (Self.field("byway-coding"), Self.field("byway-upgrade-status"))
    try rules.check(response: [status: "101", .note: "a"], vouched: [])
    let vouched = ["gzip", "br"].map { HTTPField(name: coding, value: $0) }
    for value in ["gzip", "br"] { try rules.check(response: [coding: value], vouched: vouched) }
    var fields: HTTPFields = [.note: "a", .contentType: "x", coding: "gzip"]
    try rules.check(response: fields, vouched: vouched)
    fields.append(HTTPField(name: coding, value: "zstd"))
    #expect(throws: ForwardingRules.Refusal.self) { try rules.check(response: fields, vouched: vouched) }
    // The same value in another field was not sent by the next hop.
    #expect(throws: ForwardingRules.Refusal.self) {
      try rules.check(response: [Self.field("byway-user"): "gzip"], vouched: vouched)
    }
    for name in [HTTPField.Name.exchange, .next] {
      #expect(throws: ForwardingRules.Refusal.self) { try rules.check(response: [name: "x"], vouched: []) }
    }
  }
}
