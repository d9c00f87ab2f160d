import Byway
import Logging
import NIOCore

// Devices whose gateways dial.
extension DeviceTable {
  /// Listens for gateways on the hubs that are not open yet. Any thread.
  /// - Throws: `BywayError` if an address cannot be listened on.
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
        limit: directory.mostDialed, logger: terms.logger,
        board: { [weak self] name, address, peer throws(HubRefusal) in
          guard let self else { throw .closing }
          return try board(name, from: peer, at: address)
        },
        upstream: { [weak self] name, address, peer throws(HubRefusal) in
          guard let self else { throw .closing }
          return try gateway(name, from: peer, at: address)
        })
      try await hub.listen()
      preparation.hubs[link.address.text] = hub
    }
  }

  /// Starts the new hubs, and closes those that are not in the directory.
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
    // A configured name is no longer available to devices that dial.
    dialed.sweep(at: eventLoop.now) { name, device in
      // A device of a closed hub is removed, too.
      directory.hasGiven(name) || left.contains(device.hub)
    }
    for device in dialed.all {
      device.change(patience: terms.patience, sharing: directory.sharing)
    }
  }

  /// Reports the state of the hubs, in the order of the configuration. Any thread.
  package func hubReports() async -> [HubReport] {
    let reports = try? await eventLoop.submit {
      self.directory.hubs.compactMap { self.hubs[$0.address.text]?.report }
    }.get()
    return reports ?? []
  }

  /// Returns the upstream for the connection of a gateway that has dialed.
  /// - Parameter peer: the peer of the connection; `nil` if a certificate has the name.
  private func gateway(
    _ name: DeviceName, from peer: HubPeer?, at address: LinkAddress
  ) throws(HubRefusal) -> HTTP2Upstream {
    try admit(name, isCertified: peer == nil, isBoard: false)
    let device = try dialed.device(named: name, from: peer) {
      let upstream = HTTP2Upstream.ofGateways(
        named: name.text, on: eventLoop, hop: terms.hop, patience: terms.patience, liveness: terms.liveness,
        sharing: directory.sharing, siblings: siblings, logger: dialedLogger)
      return DialedDevice(kind: .gateways(upstream), isCertified: peer == nil, hub: address)
    }
    guard case .gateways(let upstream) = device.kind else { throw .otherKind(name, isBoard: true) }
    return upstream
  }

  /// Returns the device for the connection of a board that has dialed.
  /// - Parameter peer: the peer of the connection; `nil` if a certificate has the name.
  private func board(
    _ name: DeviceName, from peer: HubPeer?, at address: LinkAddress
  ) throws(HubRefusal) -> BoardGroup {
    try admit(name, isCertified: peer == nil, isBoard: true)
    let device = try dialed.device(named: name, from: peer) {
      let board = BoardGroup(name, terms, siblings: siblings, logger: dialedLogger, on: eventLoop)
      return DialedDevice(kind: .boards(board), isCertified: peer == nil, hub: address)
    }
    guard case .boards(let board) = device.kind else { throw .otherKind(name, isBoard: false) }
    return board
  }

  private var dialedLogger: Logger {
    var logger = terms.logger
    logger.handler = DialedLogHandler(logger.handler, dialedLines)
    return logger
  }

  /// Removes a device that loses its name to one that dials. A name of another device is not given away. In particular, a gateway without
  /// a certificate does not get a name that a certificate has verified; a gateway with the certificate takes the name from one without.
  private func admit(_ name: DeviceName, isCertified: Bool, isBoard: Bool) throws(HubRefusal) {
    if directory.hasGiven(name) { throw .configured(name) }
    dialed.tidy(at: eventLoop.now)
    guard let known = dialed[name] else { return }
    if known.isCertified != isCertified {
      guard isCertified else { throw .certifiedElsewhere(name) }
      return dialed.remove(name)
    }
    guard known.hasBoards != isBoard else { return }
    // The name is free again when its device has disconnected.
    guard known.status.lastSeen != nil else { throw .otherKind(name, isBoard: known.hasBoards) }
    dialed.remove(name)
  }
}
