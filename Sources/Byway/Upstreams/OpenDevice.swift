package import Logging
package import NIOCore
import Synchronization

/// The links to one device: opened when it is used, and again after a loss.
///
/// `@unchecked Sendable`: the upstream is used on its event loop only.
package final class OpenDevice: @unchecked Sendable {
  /// The settings for reaching devices, the same for all.
  package struct Terms: Sendable {
    /// How this end names itself in `Via`; `nil` if it is not an intermediary.
    package var hop: String?
    /// How long an exchange waits while the device cannot be reached.
    package var patience: TimeAmount
    package var liveness: Liveness?
    package var logger: Logger

    package init(hop: String?, patience: TimeAmount, liveness: Liveness?, logger: Logger) {
      self.hop = hop
      self.patience = patience
      self.liveness = liveness
      self.logger = logger
    }
  }

  package let upstream: any Upstream
  private let owned: OwnedUpstream
  private let links: [LinkAddress]
  private let inbound: InboundLink?
  let eventLoop: any EventLoop
  private let bound = Mutex<LinkAddress?>(nil)

  /// - Parameters:
  ///   - links: the links, at least one.
  ///   - siblings: keeps its sites apart from those of other devices; `nil` if there are none.
  ///   - failures: counts its failures together with those of others; `nil`: a log of its own.
  package init(
    _ links: [Link], _ terms: Terms, among siblings: (any SiblingRules)?, failures: SharedSparseLog? = nil,
    on eventLoop: any EventLoop
  ) {
    self.links = links.map(\.address)
    self.eventLoop = eventLoop
    let dialers = links.map { link in
      var dialer = Dialer(link, logger: terms.logger)
      dialer.failures = failures
      return dialer
    }
    inbound = dialers.first?.inbound
    upstream = links.makeUpstream(
      over: dialers, on: eventLoop, hop: terms.hop, patience: terms.patience, liveness: terms.liveness,
      siblings: siblings, logger: terms.logger)
    owned = OwnedUpstream(upstream, on: eventLoop)
  }

  /// Whether the gateway dials, and this end listens.
  package var isInbound: Bool { inbound != nil }

  /// The addresses of its links; as bound where the gateway dials.
  package var addresses: [LinkAddress] {
    bound.withLock { $0.map { [$0] } ?? links }
  }

  /// Listens if the gateway dials; if it does so already, reads the files of its address again.
  /// - Returns: puts these files into effect.
  /// - Throws: ``BywayError`` if it cannot be listened on.
  package func listen() async throws -> (@Sendable () -> Void)? {
    guard let inbound else { return nil }
    if let renew = try await inbound.reread() { return renew }
    let address = try await inbound.listen(on: eventLoop)
    bound.withLock { $0 = address }
    return nil
  }

  package func shutDown() async {
    await owned.shutDown()
    await inbound?.close()
  }
}
