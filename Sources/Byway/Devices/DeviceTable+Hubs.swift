import NIOCore

// Devices whose gateways dial.
extension DeviceTable {
  /// Listens for gateways, if nobody does yet. Any thread.
  /// - Throws: ``BywayError`` where an address cannot be listened on.
  func prepareHubs(
    of directory: DeviceDirectory, _ terms: OpenDevice.Terms, in preparation: inout Preparation
  ) async throws {
    let known = try await eventLoop.submit { self.hubs }.get()
    for link in directory.hubs where preparation.hubs[link.address.text] == nil {
      if let hub = known[link.address.text] {
        if let renew = try await hub.reread() { preparation.renewals.append(renew) }
        continue
      }
      let hub = InboundHub(
        link, on: eventLoop, hop: terms.hop, liveness: terms.liveness, siblings: siblings,
        limit: directory.mostDialed, logger: terms.logger
      ) { [weak self] claim, address, peer throws(BywayError) in try self?.gateway(claim, from: peer, at: address) }
      try await hub.listen()
      preparation.hubs[link.address.text] = hub
    }
  }

  /// Answers who dials the new ones, and listens no more on those that the directory does not have.
  func startHubs(of preparation: Preparation) {
    let wanted = Set(directory.hubs.map(\.address.text))
    var left: Set<LinkAddress> = []
    for (text, hub) in hubs where !wanted.contains(text) {
      hubs[text] = nil
      left.insert(hub.address)
      hub.shutDown()
    }
    for (text, hub) in preparation.hubs {
      hubs[text] = hub
      hub.start()
    }
    dialed.limit = directory.mostDialed
    dialed.perPeer = directory.mostDialedByPeer
    // A name that is configured now is not a guest's any more.
    dialed.sweep(at: eventLoop.now) { name, device in
      // Nor is one a device that has come over a hub which is not wanted any more.
      directory.hasGiven(name) || device.addresses.contains { left.contains($0) }
    }
    for device in dialed.all { device.follow(terms, sharing: directory.sharing) }
  }

  /// Where the connection of a gateway goes that has dialed. A name that is somebody else's is not taken: also not one that a
  /// certificate has verified, by somebody who only says it at another hub. Who has the certificate takes it from such a one.
  /// - Parameter peer: that it comes from; `nil` where a certificate has the name.
  private func gateway(
    _ claim: DeviceClaim, from peer: HubPeer?, at address: LinkAddress
  ) throws(BywayError) -> HTTP2Upstream? {
    let isCertified = peer == nil
    guard let name = claim.name, !directory.hasGiven(name) else { return nil }
    dialed.tidy(at: eventLoop.now)
    if let known = dialed[name], known.isCertified != isCertified {
      guard isCertified else { return nil }
      dialed.forget(name)
    }
    return try dialed.device(named: name, from: peer) {
      OpenDevice(
        name, isCertified: isCertified, at: address, terms, sharing: directory.sharing, among: siblings, on: eventLoop)
    }?.gateways
  }
}
