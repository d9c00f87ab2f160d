import Byway
package import BywayHTTPWire
import BywayLibC
import BywayProxy
import BywayTLS
import Crypto
import Logging
package import NIOCore
import NIOSSL
import Synchronization

/// Terminates TLS at the proxy for chosen hosts, with certificates of a local authority. Safe on any thread.
package final class TLSInterceptor: TLSTermination {
  private struct Minted {
    let context: NIOSSLContext
    let expiry: Int
  }

  private static let lifetime = 86_400
  /// Seconds that a reused certificate stays valid at least, so that a client can continue for that long.
  private static let margin = 3600
  private static let limit = 256
  private static let handshakeLimit = TimeAmount.seconds(10)

  private let authority: LocalAuthority
  private let hosts: [HostPattern]
  private let key = P256.Signing.PrivateKey()
  private let minted = Mutex(RecentlyUsed<Host, Minted>(limit: limit))

  package init(of hosts: [HostPattern], by authority: LocalAuthority) {
    self.hosts = hosts
    self.authority = authority
  }

  package func terminates(_ host: Host) -> Bool {
    hosts.contains { $0.matches(host) }
  }

  package func begin(on channel: any Channel, as host: Host) -> EventLoopFuture<Void> {
    do {
      let tls = NIOSSLServerHandler(context: try context(for: host))
      return try TLSHandshake.add(
        to: channel, tls, words: TLSInterceptionFailure(host: host), until: .now() + Self.handshakeLimit
      )
      .map { _ in }
      .flatMapErrorThrowing { throw ($0 as? TLSHandshake.Failure)?.error ?? $0 }
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
  }

  private func context(for host: Host) throws -> NIOSSLContext {
    let now = Int(time(nil))
    return try minted.withLock { minted in
      if let known = minted.value(for: host), known.expiry > now + Self.margin { return known.context }
      let validity = now - Self.margin...now + Self.lifetime
      let certificate = try authority.mint(for: CertifiedHost(host), key.publicKey, validity: validity)
      let bytes = try certificate.serializeAsPEM().derBytes
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: [.certificate(try NIOSSLCertificate(bytes: bytes, format: .der))],
        privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.derRepresentation), format: .der)))
      configuration.minimumTLSVersion = .tlsv12
      configuration.applicationProtocols = ["h2", "http/1.1"]
      configuration.shutdownTimeout = .seconds(1)
      let context = try NIOSSLContext(configuration: configuration)
      _ = minted.insert(Minted(context: context, expiry: validity.upperBound), for: host)
      return context
    }
  }
}

/// Explains a failed handshake with an inspected client.
private struct TLSInterceptionFailure: TLSWords {
  let host: Host

  func explain(_ evidence: TLSEvidence, cause: (any Error)?) -> BywayError {
    switch evidence.reason {
    case .ownAuthorityUnknown, .ownRefused:
      BywayError(
        .originUntrusted,
        "The client does not trust the local authority, so its TLS with \(host) cannot be inspected: give it "
          + "\(Advice.showAuthority).", cause: cause)
    default:
      BywayError(.linkLost, "The TLS handshake with the client that asked for \(host) failed.", cause: cause)
    }
  }
}
