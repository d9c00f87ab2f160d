import Byway
package import NIOCore
import NIOSSL
import Synchronization

/// TLS with one origin, by the policy for its host. Safe on any thread.
package final class OriginTLS: Sendable {
  /// The name for Server Name Indication, which the certificate must have.
  package let verifiedName: String
  private let entry: ServerTrust.Entry?
  private let identity: ClientIdentity?
  private let protocols: [String]
  private let words: OriginTLSFailure
  private let contexts: TLSContexts
  /// Whether the server was recognized by its own certificate or key, rather than by its authority.
  private let isExact: Atomic<Bool>

  /// - Parameters:
  ///   - name: the name of the origin in messages.
  ///   - host: the host of the origin, which selects trust and identity.
  ///   - protocols: offered by ALPN (RFC 7301), the preferred one first.
  /// - Throws: `BywayError` if the authorities cannot be read.
  package init(name: String, host: String, protocols: [String], contexts: TLSContexts) throws {
    let policy = contexts.policy
    entry = policy.trust[host]
    identity = policy.identity(for: host)
    verifiedName = policy.peerName(for: host)?.name ?? host
    words = OriginTLSFailure(
      name: name, host: host, verifiedName: verifiedName, entry: entry, hasIdentity: identity != nil)
    self.protocols = protocols
    self.contexts = contexts
    isExact = Atomic(entry?.pins.isEmpty == false)
    _ = try context(isExact: isExact.load(ordering: .relaxed))
  }

  /// Opens a connection and negotiates TLS. Opens a second one if the first shows that the server can be trusted in the other way, for
  /// example by its own certificate instead of its authority's.
  /// - Parameter open: returns an active channel that does not read yet.
  /// - Returns: the channel and the protocol. Fails with a `BywayError`, or as `open` does.
  package func connect(
    on eventLoop: any EventLoop, by deadline: NIODeadline,
    _ open: @escaping @Sendable () -> EventLoopFuture<any Channel>
  ) -> EventLoopFuture<(any Channel, String?)> {
    let isExact = isExact.load(ordering: .relaxed)
    return attempt(isExact: isExact, on: eventLoop, by: deadline, open)
      .flatMapError { error in
        guard let failure = error as? TLSHandshake.Failure, let shown = failure.certificate,
          self.mayKnow(shown, isExact: !isExact)
        else { return eventLoop.makeFailedFuture(error) }
        return self.attempt(isExact: !isExact, on: eventLoop, by: deadline, open).map { opened in
          self.isExact.store(!isExact, ordering: .relaxed)
          return opened
        }
      }
      .flatMapErrorThrowing { throw ($0 as? TLSHandshake.Failure)?.error ?? $0 }
  }

  /// Whether a certificate may be accepted by itself, or as issued by an authority.
  private func mayKnow(_ certificate: NIOSSLCertificate, isExact: Bool) -> Bool {
    guard let entry else { return false }
    return isExact ? entry.isItself(certificate) : entry.pins.isEmpty
  }

  private func attempt(
    isExact: Bool, on eventLoop: any EventLoop, by deadline: NIODeadline,
    _ open: @escaping @Sendable () -> EventLoopFuture<any Channel>
  ) -> EventLoopFuture<(any Channel, String?)> {
    open().hop(to: eventLoop).flatMap { channel in
      do {
        return try TLSHandshake.add(
          to: channel, try self.handler(isExact: isExact), words: self.words, until: deadline
        ).map { (channel, $0) }
      } catch {
        channel.close(promise: nil)
        return eventLoop.makeFailedFuture(error)
      }
    }
  }

  private func handler(isExact: Bool) throws -> NIOSSLClientHandler {
    // Server Name Indication allows only names (RFC 6066 §3); an address is verified without it.
    let isAddress = (try? SocketAddress(ipAddress: verifiedName, port: 0)) != nil
    let context = try context(isExact: isExact)
    let name = isAddress ? nil : verifiedName
    guard isExact, let entry else { return try NIOSSLClientHandler(context: context, serverHostname: name) }
    return try NIOSSLClientHandler(context: context, serverHostname: name) { chain, decision in
      decision.succeed(entry.isItself(chain.first) ? .certificateVerified : .failed)
    }
  }

  private func context(isExact: Bool) throws -> NIOSSLContext {
    let anchors = isExact ? [] : entry.map(\.certificates)
    return try contexts.context(.init(anchors: anchors, identity: identity, protocols: protocols, isExact: isExact))
  }
}

extension ServerTrust.Entry {
  /// Whether the server's own certificate is one of these, or its key is pinned.
  fileprivate func isItself(_ certificate: NIOSSLCertificate?) -> Bool {
    guard let certificate else { return false }
    if certificates.contains(certificate) { return true }
    return KeyPin(certificate).map(pins.contains) ?? false
  }
}
