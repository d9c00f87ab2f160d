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

  package let roads: [Link]
  package let upstream: any Upstream
  package let owned: OwnedUpstream
  /// The first road's.
  private let dialer: Dialer
  private let eventLoop: any EventLoop
  private let bound = Mutex<LinkAddress?>(nil)

  /// - Parameters:
  ///   - roads: at least one.
  ///   - siblings: beneath which its names stand, where there are other devices.
  init(_ roads: [Link], _ terms: Terms, among siblings: DeviceHosts?, on eventLoop: any EventLoop) {
    self.roads = roads
    self.eventLoop = eventLoop
    let dialers = roads.map { Dialer($0, logger: terms.logger) }
    dialer = dialers[0]
    upstream = roads.makeUpstream(
      over: dialers, on: eventLoop, hop: terms.hop, patience: terms.patience, liveness: terms.liveness,
      siblings: siblings, logger: terms.logger)
    owned = OwnedUpstream(upstream, on: eventLoop)
  }

  /// The gateway dials, and this end listens.
  package var isInbound: Bool { dialer.inbound != nil }

  /// Where its roads lead; as bound where the gateway dials.
  package var addresses: [LinkAddress] {
    bound.withLock { $0.map { [$0] } ?? roads.map(\.address) }
  }

  /// Listens, where the gateway dials; where it does so already, the files of its address are read anew.
  /// - Returns: makes those files count.
  /// - Throws: ``BywayError`` where it cannot be listened on.
  func listen() async throws -> (@Sendable () -> Void)? {
    guard let inbound = dialer.inbound else { return nil }
    if let renew = try await inbound.reread() { return renew }
    let address = try await inbound.listen(on: eventLoop)
    bound.withLock { $0 = address }
    return nil
  }

  package func shutDown() async {
    await owned.shutDown()
    await dialer.inbound?.close()
  }
}
