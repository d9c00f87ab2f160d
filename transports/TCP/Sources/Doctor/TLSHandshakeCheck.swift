import Byway
import BywayDoctor
import BywayTLS
import NIOCore
import Primitives

/// Checks that the TLS handshake succeeds, and that the peer is the expected one.
struct TLSHandshakeCheck: Check {
  static let title = "TLS"

  let transport: TLSTransport
  let address: LinkAddress
  /// The address to which TCP connects.
  let endpoint: SocketAddress

  var limit: Duration { .seconds(9) }

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    do {
      let channel = try await transport.connect(to: address, context: .ofDoctor(within: .seconds(5)))
      resources.add(channel)
      channel.close(promise: nil)
      return .sound("The certificate is one that this end trusts.")
    } catch let error as BywayError {
      guard let evidence = error.evidence as? TLSEvidence else {
        return .wrong(Diagnosis(.notConnected, error.message))
      }
      switch evidence.reason {
      case .notTLS, .ended, .timedOut:
        return .wrong(diagnosis(of: await Greeting.heard(at: endpoint), evidence, error))
      default:
        return .wrong(Diagnosis(evidence, error, on: address))
      }
    }
  }

  private func diagnosis(of greeting: Greeting?, _ evidence: TLSEvidence, _ error: BywayError) -> Diagnosis {
    guard let greeting else { return Diagnosis(evidence, error, on: address) }
    let place = address.place
    if greeting.words.isHTTP2 {
      return Diagnosis(
        .notTLS,
        "\(place) is HTTP/2 without TLS, as a gateway of a tcp: link speaks it: use the same scheme at both ends.")
    }
    return switch greeting.words.unexpectedPeer {
    case .webServer:
      Diagnosis(.notTLS, "\(place) is a web server without TLS: use its port for https, which is 443 most often.")
    case .ssh: Diagnosis(.wrongScheme, "\(place) is an SSH server: write ssh: instead of tls:, or correct the port.")
    case .mailServer: Diagnosis(.wrongScheme, "\(place) is a mail server: correct the port.")
    case .tls: Diagnosis(evidence, error, on: address)
    case .login, .echo, nil:
      Diagnosis(
        .notTLS,
        "\(place) does not speak TLS: it says \(String(quoting: greeting.words.heard, limit: 40)). Correct the port.")
    }
  }
}
