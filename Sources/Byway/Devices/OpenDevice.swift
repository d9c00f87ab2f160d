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
  /// The same upstream if gateways dial a hub.
  let gateways: HTTP2Upstream?
  private let owned: OwnedUpstream
  /// The title that its gateway has given itself, if it dials; on the event loop.
  var title: String? { gateways?.title }
  /// A new number whenever another device may be behind it; on the event loop.
  var incarnation: UInt64 { gateways?.incarnation ?? 0 }
  /// Whether its gateways have shown certificates with its name.
  let isCertified: Bool
  private let links: [LinkAddress]
  private let inbound: InboundLink?
  private let eventLoop: any EventLoop
  private let bound = Mutex<LinkAddress?>(nil)

  /// - Parameters:
  ///   - links: the links, at least one.
  ///   - siblings: the suffixes below which its names are, if there are other devices.
  ///   - failures: counts its failures together with those of others; `nil`: a log of its own.
  init(
    _ links: [Link], _ terms: Terms, among siblings: Siblings, failures: SharedSparseLog? = nil,
    on eventLoop: any EventLoop
  ) {
    self.links = links.map(\.address)
    self.eventLoop = eventLoop
    gateways = nil
    isCertified = false
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

  /// Creates a device whose gateways dial a hub.
  /// - Parameters:
  ///   - name: the name that they claim.
  ///   - isCertified: whether they have a certificate for the name.
  ///   - hub: the bound address that they dial.
  ///   - sharing: the use of several gateways that claim the name.
  ///   - siblings: the suffixes below which the names are.
  init(
    _ name: DeviceName, isCertified: Bool, at hub: LinkAddress, _ terms: Terms, sharing: GatewaySharing,
    among siblings: Siblings,
    on eventLoop: any EventLoop
  ) {
    links = [hub]
    self.isCertified = isCertified
    self.eventLoop = eventLoop
    inbound = nil
    let gateways = HTTP2Upstream.ofGateways(
      named: name.text, on: eventLoop, hop: terms.hop, patience: terms.patience, liveness: terms.liveness,
      sharing: sharing, siblings: siblings, logger: terms.logger)
    self.gateways = gateways
    upstream = gateways
    owned = OwnedUpstream(gateways, on: eventLoop)
  }

  /// Whether the gateway dials, and this end listens.
  package var isInbound: Bool { inbound != nil || gateways != nil }

  /// The addresses of its links; as bound where the gateway dials.
  package var addresses: [LinkAddress] {
    bound.withLock { $0.map { [$0] } ?? links }
  }

  /// Listens if the gateway dials; if it does so already, reads the files of its address again.
  /// - Returns: puts these files into effect.
  /// - Throws: ``BywayError`` if it cannot be listened on.
  func listen() async throws -> (@Sendable () -> Void)? {
    guard let inbound else { return nil }
    if let renew = try await inbound.reread() { return renew }
    let address = try await inbound.listen(on: eventLoop)
    bound.withLock { $0 = address }
    return nil
  }

  /// Applies other settings, where gateways dial a hub; settings of existing connections stay. On the event loop.
  func follow(_ terms: Terms, sharing: GatewaySharing) {
    upstream.patience = terms.patience
    gateways?.sharing = sharing
  }

  package func shutDown() async {
    await owned.shutDown()
    await inbound?.close()
  }
}
