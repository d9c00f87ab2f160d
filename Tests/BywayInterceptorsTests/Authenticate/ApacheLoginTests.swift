import Byway
import BywayInterceptors
import HTTPTypes
import TCPTransport
import TestPeers
import TestTools
import Testing

/// Logins at Apache httpd, which verifies counts, nonces and responses, and proves its own knowledge in `rspauth`.
@Suite(.timeLimit(.minutes(2))) struct ApacheLoginTests {
  private func withApache(
    nonceLifetime: Int = 300, password: String = ApacheServer.password,
    _ body: (BywayClient, TraceLines) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let apache = try await ApacheServer(in: folder, nonceLifetime: nonceLifetime)
    let lines = TraceLines()
    var configuration = BywayClient.Configuration.defaults
    configuration.interceptors = [
      Authenticate(hosts: ["device"], user: ApacheServer.user, password: password), Trace(to: lines),
    ]
    let client = try BywayClient(
      link: "tcp://\(apache.endpoint)?http=1.1", transports: [TCPTransport()], configuration: configuration)
    try await body(client, lines)
    await client.shutDown()
    await apache.stop()
  }

  @Test("a Digest login at Apache takes one challenge, and later requests log in at once")
  func digest() async throws {
    try await withApache { client, lines in
      for _ in 0..<3 {
        let response = try await client.get("http://device/digest?a=%20b")
        #expect(response.status == .ok)
        #expect(try await response.text == "behind digest\n")
      }
      let posted = try await client.execute(Request(.post, url: "http://device/digest", body: Body("x")))
      #expect(posted.status == .ok)
      #expect(try await posted.text == "behind digest\n")
      #expect(lines.statuses.sorted() == [200, 200, 200, 200, 401])
    }
  }

  @Test("a stale Digest nonce of Apache is replaced without asking for the password again")
  func stale() async throws {
    try await withApache(nonceLifetime: 3) { client, lines in
      #expect(try await client.get("http://device/digest").text == "behind digest\n")
      // Real time: Apache's clock decides when the nonce is stale.
      try await Task.sleep(for: .seconds(5))
      #expect(try await client.get("http://device/digest").text == "behind digest\n")
      #expect(lines.statuses == [401, 200, 401, 200])
      #expect(lines.exchanges[2].response?.headerFields[.wwwAuthenticate]?.contains("stale=true") == true)
    }
  }

  @Test("Apache's next nonce is used before the current one becomes stale")
  func nextNonce() async throws {
    try await withApache(nonceLifetime: 20) { client, lines in
      for _ in 0..<3 { _ = try await client.get("http://device/digest").text }
      #expect(lines.statuses == [401, 200, 200, 200])
      let nonces = lines.exchanges.dropFirst().compactMap { exchange in
        exchange.response?.headerFields[.authenticationInfo].flatMap { $0.contains("nextnonce") ? $0 : nil }
      }
      #expect(nonces.count == 3)
    }
  }

  @Test("a Basic login at Apache succeeds")
  func basic() async throws {
    try await withApache { client, _ in
      let response = try await client.get("http://device/basic")
      #expect(try await response.text == "behind basic\n")
    }
  }

  @Test("a wrong password at Apache results in 401 after one attempt", arguments: ["/digest", "/basic"])
  func wrong(_ path: String) async throws {
    try await withApache(password: "Circle of Death") { client, lines in
      let response = try await client.get("http://device" + path)
      #expect(response.status == .unauthorized)
      #expect(lines.statuses.count <= 2)
      for text in lines.texts { #expect(!text.contains("Circle of Death")) }
    }
  }
}
