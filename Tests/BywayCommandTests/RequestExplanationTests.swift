import TestPeers
import TestTools
import Testing

/// `byway check --explain`.
@Suite("Explanation of a request") struct RequestExplanationTests {
  private func explain(_ file: String, _ url: String, _ more: String..., as name: String = "hall.conf") async throws
    -> CommandResult
  {
    let folder = try TemporaryFolder()
    return try await BywayProcess.run(["check", folder.write(file, to: name), "--explain", url] + more)
  }

  private static let proxy = """
    listen = 127.0.0.1:8080
    link = unix:/run/byway.sock
    allow-page = http://panel.example
    compress = yes
    interceptors = late, early, compress
    [interceptor early]
    link = unix:/run/early.sock
    host = *.example
    path = /api
    method = POST
    on-failure = bypass
    [interceptor late]
    link = exec:/bin/cat
    [device printer]
    link = unix:/run/printer.sock

    """

  @Test("the interceptors of a proxy are listed in order, with the scope of each plugin, and the target")
  func proxy() async throws {
    let result = try await explain(Self.proxy, "http://a.example/api/x", "--method", "POST")
    #expect(result.exitCode == 0, "\(result.errorText)")
    #expect(
      result.text.split(separator: "\n") == [
        "POST http://a.example/api/x",
        "  clients: at tcp://127.0.0.1:8080, without a login, as localhost, "
          + "not for web pages of other origins than http://panel.example",
        "  request: sent with its whole URL, by a client that uses the proxy as its proxy",
        "  interceptors, in their order:",
        "    1. late, a plugin at exec:/bin/cat: every request, applies, on-failure=refuse",
        "    2. early, a plugin at unix:/run/early.sock: host *.example, path /api, method POST, applies, on-failure=bypass",
        "    3. compress: every request, applies",
        "  target: a.example, if the gateway at unix:/run/byway.sock may reach it (--allow)",
      ], "\(result.text)")
  }

  @Test("a plugin out of scope is listed with the reason, and a tunnel passes none")
  func outOfScope() async throws {
    let other = try await explain(Self.proxy, "http://other/apiary").text
    #expect(other.contains("does not apply: another host and path and method"), "\(other)")
    let tunnel = try await explain(Self.proxy, "https://a.example/api").text
    #expect(tunnel.contains("request: sent through a tunnel of CONNECT"), "\(tunnel)")
    #expect(tunnel.contains("does not apply: the bytes of a tunnel pass no plugin"), "\(tunnel)")
    #expect(tunnel.contains("target: a.example:443, if the gateway"), "\(tunnel)")
  }

  @Test(
    "the port of the URL decides whether it addresses the proxy itself",
    arguments: [
      (
        "http://127.0.0.1:8080/", "sent to the proxy itself",
        "target: the origin of the gateway at unix:/run/byway.sock"
      ),
      ("http://127.0.0.1:8081/", "sent with its whole URL", "target: 127.0.0.1:8081, if the gateway"),
      ("http://localhost/", "sent with its whole URL", "target: localhost, if the gateway"),
      ("http://printer.localhost:8080/", "sent to the proxy itself", "the device printer, over unix:/run/printer.sock"),
      ("http://printer.localhost/", "sent with its whole URL", "the device printer, over unix:/run/printer.sock"),
      ("http://byway.localhost:8080/", "sent to the proxy itself", "the proxy's own list of devices"),
    ])
  func ports(_ url: String, _ form: String, _ target: String) async throws {
    let text = try await explain(Self.proxy, url).text
    #expect(text.contains(form) && text.contains(target), "\(text)")
  }

  @Test("a gateway shows the target with and without a proxy in front, and each of its sections")
  func gateway() async throws {
    let file = """
      link = unix:/run/hall.sock
      [gateway hall]
      origin = http://127.0.0.1:80
      allow = *.example:8080
      """
    let allowed = try await explain(file, "http://a.example:8080/").text
    #expect(
      allowed.split(separator: "\n") == [
        "GET http://a.example:8080/", "[gateway hall]",
        "  clients: of unix:/run/hall.sock; they may reach the origin and *.example:8080",
        "  interceptors: none",
        "  target of a request to the gateway: the origin, http://127.0.0.1:80",
        "  target through a proxy that asks for the URL: http://a.example:8080, which --allow permits",
      ], "\(allowed)")
    let refused = try await explain(file, "http://a.example:8081/").text
    #expect(
      refused.contains("asks for the URL: refused. This gateway does not reach a.example:8081"), "\(refused)")
  }

  @Test(
    "a wrong URL or method is an error with what to write",
    arguments: [("ftp://x/", "GET", "http://"), ("device", "GET", "absolute URL"), ("http://x/", "G T", "--method")])
  func mistakes(_ url: String, _ method: String, _ hint: String) async throws {
    let result = try await explain(Self.proxy, url, "--method", method)
    #expect(result.exitCode == 64 && result.errorText.contains(hint), "\(result.errorText)")
  }
}
