import Byway
import BywayHTTPWire
import HTTPTypes
import Testing

@Suite struct ScopeTests {
  private static let requests: [(HTTPRequest.Method, String, String, String)] = [
    (.get, "http", "device", "/"), (.get, "http", "DEVICE:8080", "/api/x?y"),
    (.post, "https", "a.example.com", "/apiary"),
    (.get, "http", "[::1]:80", "/api"), (.get, "http", "device.:80", "/api?x"), (.get, "http", "example.com", "/API"),
  ]

  @Test(
    "a scope matches requests that meet all its conditions",
    arguments: [
      (Scope.everything, [0, 1, 2, 3, 4, 5]),
      (Scope(hosts: ["device"]), [0, 1, 4]),
      (Scope(hosts: ["*.example.com"]), [2]),
      (Scope(hosts: ["[::1]"]), [3]), (Scope(hosts: ["0::1", "DEVICE."]), [0, 1, 3, 4]),
      (Scope(hosts: ["no host", "user@device"]), []),
      (Scope(paths: ["/api"]), [1, 3, 4]),
      (Scope(paths: ["/api/"]), [1]),
      (Scope(schemes: ["https"]), [2]),
      (Scope(methods: [.post, .put]), [2]),
      (Scope(schemes: ["http"], hosts: ["device"], paths: ["/api"], methods: [.get]), [1, 4]),
    ])
  func matches(_ scope: Scope, _ expected: [Int]) {
    let requests = Self.requests.map { HTTPRequest(method: $0.0, scheme: $0.1, authority: $0.2, path: $0.3) }
    #expect(requests.indices.filter { scope.contains(requests[$0]) } == expected)
    #expect(
      requests.indices.filter { scope.contains(ExchangeHead(fields: FieldSection(requests[$0]), isComplete: true)) }
        == expected)
  }

  @Test("a scope finds the host in the Host field if there is no authority")
  func hostField() {
    let head: FieldSection = [":method": "GET", ":path": "/", "host": "device:80"]
    #expect(Scope(hosts: ["device"]).contains(ExchangeHead(fields: head, isComplete: true)))
  }
}
