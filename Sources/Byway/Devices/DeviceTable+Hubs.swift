import NIOCore

// Devices whose gateways dial.
extension DeviceTable {
  /// Listens for gateways, if nobody does yet. Any thread.
  /// - Throws: ``BywayError`` where an address cannot be listened on.
  func prepareHubs(
    of directory: DeviceDirectory, _ terms: OpenDevice.Terms, in preparation: inout Preparation
  ) async throws {
    let known = try await eventLoop.submit { Set(self.hubs.keys) }.get()
    for link in directory.hubs where !known.contains(link.address.text) && preparation.hubs[link.address.text] == nil {
      let hub = InboundHub(
        link, on: eventLoop, hop: terms.hop, liveness: terms.liveness, siblings: siblings,
        logger: terms.logger
      ) { [weak self] claim, address in self?.gateway(claim, at: address) }
      try await hub.listen()
      preparation.hubs[link.address.text] = hub
    }
  }

  /// Answers who dials the new ones, and listens no more on those that the directory does not have.
  func startHubs(of preparation: Preparation) {
    let wanted = Set(directory.hubs.map(\.address.text))
    for (text, hub) in hubs where !wanted.contains(text) {
      hubs[text] = nil
      hub.shutDown()
    }
    for (text, hub) in preparation.hubs {
      hubs[text] = hub
      hub.start()
    }
    // A name that is configured now is not a guest's any more.
    dialed.sweep(at: eventLoop.now) { directory.hasGiven($0) || wanted.isEmpty }
  }

  /// Where the connection of a gateway goes that has dialed. A name that is somebody else's is not taken.
  private func gateway(_ claim: DeviceClaim, at address: LinkAddress) -> HTTP2Upstream? {
    guard let name = claim.name, !directory.hasGiven(name) else { return nil }
    dialed.sweep(at: eventLoop.now)
    let device = dialed.device(named: name) {
      OpenDevice(
        name, at: address, terms, sharing: directory.sharing, among: siblings, on: eventLoop)
    }
    device?.title = claim.title?.text
    // Perhaps another one, which has only the name of the last.
    device?.incarnation = .random(in: .min ... .max)
    return device?.gateways
  }
}
