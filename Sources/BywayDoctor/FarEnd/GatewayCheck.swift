import Byway
import BywayPrimitives
import NIOCore

/// Checks that the peer answers an HTTP/2 PING (RFC 9113 §6.7).
struct GatewayCheck: LinkCheck {
  static let title = "gateway"

  let link: Link

  private static let patience = Duration.seconds(7)

  var limit: Duration { Self.patience + .seconds(1) }

  func examine(_ resources: OpenedResources) async throws -> Finding<BywayClient> {
    var configuration = BywayClient.Configuration.defaults
    configuration.patience = .zero
    configuration.timeout = .seconds(5)
    let client = BywayClient(link, configuration: configuration)
    resources.add { await client.shutDown() }
    guard link.framing == .http2 else { return .undecided("HTTP/1.1 has no PING.", client) }
    let silence = BywayError(
      .timedOut,
      "\(link.address.place) accepts connections but has not answered HTTP/2 within \(Self.patience.components.seconds) s: start "
        + "\"byway gateway\", or correct the address.")
    do {
      let roundTrip = try await withTimeLimit(Self.patience, throwing: silence) { try await client.ping() }
      return .sound("It answers a PING in \(roundTrip.inMilliseconds) ms.", client)
    } catch let error as BywayError {
      return .wrong(Diagnosis(of: error, on: link))
    }
  }
}
