import Byway
import BywayGateway
import BywayInterceptors
import BywayProxy
import Foundation
import HTTPTypes
import Logging
import LoopbackTransport
import Synchronization
import TestPeers
import TestTools
import Testing
import UnixTransport

/// Logins and stored responses depend on a request's destination, not on the host it names.
@Suite(.timeLimit(.minutes(1))) struct DestinationTests {
  /// An origin that asks for a login for any host, and records what it receives.
  private final class Greedy: Sendable {
    private let logins = Mutex<Set<String>>([])
    var received: Set<String> { logins.withLock { $0 } }

    func respond(_ request: Request) -> Response {
      guard let field = request.head.headerFields[.authorization] else {
        return Response(status: .unauthorized, fields: [.wwwAuthenticate: "Basic realm=x"])
      }
      _ = logins.withLock { $0.insert(field) }
      return Response(status: .ok, body: Body("welcome"))
    }
  }

  private static func basic(_ login: String) -> String { "Basic " + Data(login.utf8).base64EncodedString() }
  private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  private let files: TemporaryFolder

  init() throws {
    files = try TemporaryFolder()
  }

  private func logins() throws -> Authenticate {
    let netrc = try files.write(
      "machine bank.example login a password bank\nmachine localhost login b password own\n", to: "netrc")
    chmod(netrc, 0o600)
    return try Authenticate(netrc: netrc)
  }

  private func gateway(_ interceptors: [any Interceptor], _ origin: Origin) async throws -> (Gateway, Link) {
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:\(UUID())")
    var configuration = GatewayConfiguration(links: [link], origin: origin)
    configuration.interceptors = interceptors
    configuration.logger = Self.quiet
    return (try await Gateway.start(configuration), link)
  }

  @Test("a gateway does not send another host's password to the origin when a client's request names that host")
  func gateway() async throws {
    let origin = Greedy()
    let (gateway, link) = try await gateway([try logins()], .handler { origin.respond($0) })
    let client = BywayClient(link)
    for url in ["http://bank.example/", "http://bank.example:81/", "https://bank.example/", "http://x/"] {
      #expect(try await client.get(url).status == .ok)
    }
    await client.shutDown()
    await gateway.stop(within: .zero)
    #expect(origin.received == [Self.basic("b:own")])
  }

  @Test("hosts set in code are compared with the request's destination, not with the host it names")
  func hosts() async throws {
    let origin = Greedy()
    let interceptor = Authenticate(hosts: ["bank.example"], user: "a", password: "bank")
    let (gateway, link) = try await gateway([interceptor], .handler { origin.respond($0) })
    let client = BywayClient(link)
    #expect(try await client.get("http://bank.example/").status == .unauthorized)
    await client.shutDown()
    await gateway.stop(within: .zero)
    #expect(origin.received == [])
  }

  @Test("an origin cannot get another host's password by a redirect that the link leads back to the origin")
  func redirect() async throws {
    let origin = Greedy()
    let (gateway, link) = try await gateway(
      [],
      .handler { request in
        request.head.path == "/away"
          ? Response(status: .found, fields: [.location: "http://bank.example:81/"]) : origin.respond(request)
      })
    var configuration = BywayClient.Configuration.defaults
    configuration.interceptors = [Redirect(), try logins()]
    let client = BywayClient(link, configuration: configuration)
    #expect(try await client.get("http://localhost/away").status == .unauthorized)
    #expect(origin.received == [])
    #expect(try await client.get("http://bank.example/").status == .ok)
    await client.shutDown()
    await gateway.stop(within: .zero)
  }

  @Test("a proxy does not send another host's password over a link that leads to one origin for any host")
  func proxy() async throws {
    let origin = Greedy()
    try await withProxy([try logins()], .handler { origin.respond($0) }) { curl in
      var statuses: [Int] = []
      for options in [
        ["http://bank.example/"], ["http://localhost/"], ["--http2-prior-knowledge", "http://bank.example/"],
      ] {
        statuses.append(try await curl(options).status)
      }
      #expect(statuses == [401, 200, 401])
    }
    #expect(origin.received == [Self.basic("b:own")])
  }

  @Test("the cache does not store the link origin's response for another host that a request names")
  func poisoning() async throws {
    let fresh: @Sendable (Request) -> Response = { _ in
      Response(status: .ok, fields: [.cacheControl: "max-age=1000"], body: Body("planted"))
    }
    try await withProxy([Cache()], .handler { fresh($0) }) { curl in
      for _ in 0..<2 { #expect(try await curl(["http://bank.example/"]).text == "planted") }
      let absolute = try await curl(["--request-target", "http://bank.example/", "http://bank.example/"])
      #expect(absolute.status == 403)
      #expect(!absolute.text.contains("planted"))
    }
  }

  /// - Parameter body: receives a curl that uses the proxy on its Unix socket.
  private func withProxy(
    _ interceptors: [any Interceptor], _ origin: Origin,
    _ body: (([String]) async throws -> CurlAnswer) async throws -> Void
  ) async throws {
    let (gateway, link) = try await gateway([], origin)
    let socket = files["proxy"]
    let listen = try TransportRegistry([UnixTransport()]).link("unix:\(socket)")
    var configuration = ProxyConfiguration(link: link, listen: listen)
    configuration.interceptors = interceptors
    configuration.logger = Self.quiet
    let proxy = try await Proxy.start(configuration)
    try await body { try await Curl.fetch(["--unix-socket", socket] + $0) }
    await proxy.stop(within: .zero)
    await gateway.stop(within: .zero)
  }
}
