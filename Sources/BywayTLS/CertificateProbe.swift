package import Byway
import NIOCore
package import NIOSSL
import Synchronization

/// Fetches the certificate of a server behind a link, valid or not, to show it to a user. The handshake ends there, and no user data is
/// sent.
package final class CertificateProbe: Interceptor {
  private static let timeout = TimeAmount.seconds(30)

  private let host: String
  private let port: Int
  private let shown = Mutex<NIOSSLCertificate?>(nil)

  private init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// - Parameter link: a link whose gateway must allow the tunnel.
  /// - Throws: `BywayError` if no server answers there with TLS.
  package static func fetch(from host: String, port: Int, over link: Link) async throws -> NIOSSLCertificate {
    let probe = CertificateProbe(host: host, port: port)
    var configuration = BywayClient.Configuration.defaults
    configuration.patience = .zero
    configuration.interceptors = [probe]
    let client = BywayClient(link, configuration: configuration)
    var failure: any Error = BywayError(
      .originUntrusted, "\(probe.authority) showed no certificate.", processing: .none)
    do {
      _ = try await client.get("https://\(probe.authority)/")
    } catch {
      failure = error
    }
    await client.shutDown()
    if let certificate = probe.shown.withLock({ $0 }) { return certificate }
    throw failure
  }

  private var authority: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

  package func intercept(_ request: Request, next: Next) async throws -> Response {
    guard let link = next.exchanges else {
      throw BywayError(.invalidRequest, "A tunnel needs a link at the end of its chain.", processing: .none)
    }
    let dialer = TunnelDialer(
      to: authority, through: link.handler, on: link.eventLoop,
      remoteAddress: try SocketAddress(unixDomainSocketPath: "tunnel"))
    let deadline = NIODeadline.now() + Self.timeout
    let channel = try await dialer.dial(by: deadline).get()
    do {
      _ = try await channel.eventLoop.flatSubmit { self.shake(channel, until: deadline) }.get()
    } catch let failure as TLSHandshake.Failure {
      throw failure.error
    }
    throw BywayError(.cancelled, "Only the certificate was wanted.", processing: .none)
  }

  private func shake(_ channel: any Channel, until deadline: NIODeadline) -> EventLoopFuture<String?> {
    do {
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.minimumTLSVersion = .tlsv12
      configuration.certificateVerification = .noHostnameVerification
      configuration.applicationProtocols = ["http/1.1"]
      let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
      let handler = try NIOSSLClientHandler(
        context: try NIOSSLContext(configuration: configuration), serverHostname: isAddress ? nil : host
      ) { chain, decision in
        self.shown.withLock { $0 = chain.first }
        let enough = NIOSSLVerificationResult.failed
        decision.succeed(enough)
      }
      let name = "https://\(authority)"
      let words = OriginTLSFailure(name: name, host: host, verifiedName: host, entry: nil, hasIdentity: false)
      return try TLSHandshake.add(to: channel, handler, words: words, until: deadline)
    } catch {
      channel.close(promise: nil)
      return channel.eventLoop.makeFailedFuture(error)
    }
  }
}
