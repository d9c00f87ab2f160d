package import Logging
package import NIOCore
import Synchronization

/// The way to one device: opened when it is asked for, and again when it was lost.
///
/// `@unchecked Sendable`: the upstream is touched on its event loop only.
package final class OpenDevice: @unchecked Sendable {
  /// How a device is to be reached, whichever it is.
  package struct Terms: Sendable {
    /// How this end names itself in `Via`; `nil` where it is not an intermediary.
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
  /// The same, where gateways dial a hub.
  let gateways: HTTP2Upstream?
  private let owned: OwnedUpstream
  /// What its gateway says that it is called, where it dials; on the event loop.
  var title: String? { gateways?.title }
  /// Another one whenever another device may be behind it; on the event loop.
  var incarnation: UInt64 { gateways?.incarnation ?? 0 }
  /// Its gateways have shown certificates with its name.
  let isCertified: Bool
  private let roads: [LinkAddress]
  private let inbound: InboundLink?
  private let eventLoop: any EventLoop
  private let bound = Mutex<LinkAddress?>(nil)

  /// - Parameters:
  ///   - roads: at least one.
  ///   - siblings: beneath which its names stand, where there are other devices.
  ///   - failures: counts its failures together with those of others; `nil`: it has a log of its own.
  init(
    _ roads: [Link], _ terms: Terms, among siblings: Siblings, failures: SharedSparseLog? = nil,
    on eventLoop: any EventLoop
  ) {
    self.roads = roads.map(\.address)
    self.eventLoop = eventLoop
    gateways = nil
    isCertified = false
    let dialers = roads.map { road in
      var dialer = Dialer(road, logger: terms.logger)
      dialer.failures = failures
      return dialer
    }
    inbound = dialers.first?.inbound
    upstream = roads.makeUpstream(
      over: dialers, on: eventLoop, hop: terms.hop, patience: terms.patience, liveness: terms.liveness,
      siblings: siblings, logger: terms.logger)
    owned = OwnedUpstream(upstream, on: eventLoop)
  }

  /// A device whose gateways dial a hub.
  /// - Parameters:
  ///   - name: that they say.
  ///   - isCertified: and have a certificate for.
  ///   - hub: the address that they dial, as bound.
  ///   - sharing: what becomes of the name where several claim it.
  ///   - siblings: beneath which the names stand.
  init(
    _ name: DeviceName, isCertified: Bool, at hub: LinkAddress, _ terms: Terms, sharing: GatewaySharing,
    among siblings: Siblings,
    on eventLoop: any EventLoop
  ) {
    roads = [hub]
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

  /// The gateway dials, and this end listens.
  package var isInbound: Bool { inbound != nil || gateways != nil }

  /// Where its roads lead; as bound where the gateway dials.
  package var addresses: [LinkAddress] {
    bound.withLock { $0.map { [$0] } ?? roads }
  }

  /// Listens, where the gateway dials; where it does so already, the files of its address are read anew.
  /// - Returns: makes those files count.
  /// - Throws: ``BywayError`` where it cannot be listened on.
  func listen() async throws -> (@Sendable () -> Void)? {
    guard let inbound else { return nil }
    if let renew = try await inbound.reread() { return renew }
    let address = try await inbound.listen(on: eventLoop)
    bound.withLock { $0 = address }
    return nil
  }

  /// Goes over to other terms, where gateways dial a hub; those that it makes connections by stay. On the event loop.
  func follow(_ terms: Terms, sharing: GatewaySharing) {
    upstream.patience = terms.patience
    gateways?.sharing = sharing
  }

  package func shutDown() async {
    await owned.shutDown()
    await inbound?.close()
  }
}
