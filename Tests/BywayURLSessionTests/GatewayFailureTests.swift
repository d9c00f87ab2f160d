import Byway
import BywayGateway
import Foundation
import FoundationNetworking
import HTTPTypes
import LoopbackTransport
import TestPeers
import TestTools
import Testing

@testable import BywayURLSession

/// Gateway reports of an unreachable origin, as a response or as an error if the bridge is set so.
@Suite(.timeLimit(.minutes(2))) struct GatewayFailureTests {
  /// Sends a request to a gateway of this origin through two bridges, one of which turns failures into errors.
  private func ask(
    _ origin: String, _ path: String = "/"
  ) async throws -> (plain: (Data, URLResponse), failure: Result<(Data, URLResponse), URLError>) {
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:\(UUID())")
    let gateway = try await Gateway.start(GatewayConfiguration(links: [link], origin: try Origin(origin)))
    let client = BywayClient(link)
    func session(_ failures: Bridge.GatewayFailures?) throws -> URLSession {
      let routes = [Route(Rig.scope, over: client)]
      let bridge = try failures.map { try Bridge(routes, gatewayFailures: $0) } ?? Bridge(routes)
      return URLSession(configuration: .byway(bridge))
    }
    let plain = try await session(nil).data(from: .device(path))
    let failure: Result<(Data, URLResponse), URLError>
    do { failure = .success(try await session(.errors).data(from: .device(path))) } catch {
      failure = .failure(try #require(error as? URLError))
    }
    await client.shutDown()
    await gateway.stop(within: .zero)
    return (plain, failure)
  }

  @Test("an unreachable origin is a response, or an error with the gateway's message if the bridge is set so")
  func down() async throws {
    let port = try Endpoint.freePort()
    let (plain, failure) = try await ask("http://127.0.0.1:\(port)")
    #expect(plain.1.http?.statusCode == 503)
    let error = #expect(throws: URLError.self) { try failure.get() }
    #expect(error?.code == .cannotConnectToHost)
    #expect(error?.failingURL == .device())
    let reason = error?.userInfo[NSLocalizedFailureReasonErrorKey] as? String
    #expect(reason?.contains("\(port)") == true, "\(reason ?? "none")")
    let underlying = error?.userInfo[NSUnderlyingErrorKey] as? BywayError
    #expect(underlying?.code == .originUnavailable && underlying?.message == reason)
  }

  @Test("an origin's own 503 stays a response, even with a forged Proxy-Status")
  func ownWords() async throws {
    let nginx = try await NginxServer(
      in: TemporaryFolder(),
      locations: """
        location = /own { return 503 "closed"; }
        location = /forged {
          add_header Proxy-Status 'byway-gateway-x; error=connection_refused; details="forged"' always;
          return 503 "closed";
        }
        location = /other { add_header Proxy-Status 'cdn; error=connection_refused' always; return 503 "closed"; }
        """)
    for path in ["/own", "/forged", "/other"] {
      let (plain, failure) = try await ask("http://\(nginx.endpoint)", path)
      for (data, response) in [plain, try failure.get()] {
        #expect(response.http?.statusCode == 503 && data.text == "closed")
      }
    }
    await nginx.stop()
  }

  @Test("a download task of an unreachable origin fails, and leaves no file")
  func download() async throws {
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:\(UUID())")
    let gateway = try await Gateway.start(
      GatewayConfiguration(links: [link], origin: try Origin("http://127.0.0.1:\(try Endpoint.freePort())")))
    let client = BywayClient(link)
    let bridge = try Bridge([Route(Rig.scope, over: client)], gatewayFailures: .errors)
    let error = await #expect(throws: URLError.self) {
      try await URLSession(configuration: .byway(bridge)).download(from: .device())
    }
    #expect(error?.code == .cannotConnectToHost)
    await client.shutDown()
    await gateway.stop(within: .zero)
  }

  /// Errors of Byway's hops, with the corresponding codes of `URLSession`.
  private static let codes: [(String, Int, URLError.Code)] = [
    ("destination_unavailable", 503, .cannotConnectToHost), ("connection_refused", 503, .cannotConnectToHost),
    ("connection_terminated", 502, .networkConnectionLost), ("http_response_incomplete", 502, .networkConnectionLost),
    ("http_response_timeout", 504, .timedOut), ("tls_certificate_error", 502, .serverCertificateUntrusted),
    ("http_request_denied", 403, .resourceUnavailable), ("http_request_denied", 421, .cannotFindHost),
    ("http_request_error", 413, .dataLengthExceedsMaximum), ("http_request_error", 400, .badURL),
    ("http_protocol_error", 502, .badServerResponse), ("proxy_internal_error", 500, .badServerResponse),
  ]

  private func error(_ status: Int, _ field: String?) -> URLError? {
    var head = HTTPResponse(status: .init(code: status))
    if let name = HTTPField.Name("Proxy-Status") { head.headerFields[name] = field }
    return URLError(reportedBy: head, at: .device())
  }

  @Test("each kind of gateway failure has its own URLError code")
  func kinds() {
    for (kind, status, code) in Self.codes {
      let error = error(status, "byway-gateway-a; error=\(kind); details=\"words\"")
      #expect(error?.code == code, "\(kind)")
      #expect(error?.userInfo[NSLocalizedFailureReasonErrorKey] as? String == "words")
    }
    #expect(error(503, "byway-gateway-a; error=connection_refused")?.localizedDescription.contains("503") == true)
  }

  @Test("a success, a status of a foreign hop, and a Proxy-Status without an error are not failures")
  func noFailures() {
    #expect(error(200, "byway-gateway-a; error=connection_refused") == nil)
    #expect(error(503, "cdn; error=connection_refused") == nil)
    #expect(error(503, "byway-gateway-a; received-status=503") == nil)
    #expect(error(503, nil) == nil)
  }
}
