import Byway
import BywayPrimitives
import NIOCore

extension Diagnosis {
  /// Returns the diagnosis of a server that does not speak TLS, by its first words; the same diagnosis for any other fault.
  func looking(at server: SocketAddress, of address: LinkAddress) async -> Diagnosis {
    guard [.notTLS, .handshakeFailed].contains(fault), let greeting = await Greeting.heard(at: server) else {
      return self
    }
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
    case .tls: self
    case .login, .echo, nil:
      Diagnosis(
        .notTLS,
        "\(place) does not speak TLS: it says \(String(quoting: greeting.words.heard, limit: 40)). Correct the port.")
    }
  }
}
