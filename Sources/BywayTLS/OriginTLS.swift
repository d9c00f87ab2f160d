import Byway
package import NIOCore
import NIOSSL
import Synchronization

/// TLS with one origin, as the policy has it for that host. Safe on any thread.
package final class OriginTLS: Sendable {
  /// Sent as Server Name Indication, and to stand in the certificate.
  package let verifiedName: String
  private let entry: ServerTrust.Entry?
  private let identity: ClientIdentity?
  private let protocols: [String]
  private let words: OriginTLSFailure
  private let contexts: TLSContexts
  /// The server's own certificate or key is known, and nothing else about it.
  private let isExact: Atomic<Bool>

  /// - Parameters:
  ///   - name: of the origin, in messages.
  ///   - host: as the origin is named; trust and identity go by it.
  ///   - protocols: offered by ALPN (RFC 7301), the best first.
  /// - Throws: `BywayError` where the authorities cannot be read.
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

  /// Opens a connection and agrees on TLS; a second one where the first shows that the server is known in the other way, by
  /// its own certificate in place of its authority's for example.
  /// - Parameter open: gives an active channel that does not read yet.
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

  /// Whether a certificate may be good when it is looked at as itself, or as one of an authority's.
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
    // Server Name Indication takes names only (RFC 6066 §3); an address is verified without it.
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
  /// The server's own certificate is one of these, or its key is pinned.
  fileprivate func isItself(_ certificate: NIOSSLCertificate?) -> Bool {
    guard let certificate else { return false }
    if certificates.contains(certificate) { return true }
    return KeyPin(certificate).map(pins.contains) ?? false
  }
}
