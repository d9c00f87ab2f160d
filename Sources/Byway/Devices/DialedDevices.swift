import NIOCore

/// The devices whose gateways have dialed, by the names that they say. They come without being configured, and go again.
///
/// Lives on its event loop.
struct DialedDevices {
  /// After which one is forgotten that has not dialed again.
  static let patience = TimeAmount.minutes(10)
  /// Between looks at all of them, however many come meanwhile.
  private static let pause = TimeAmount.seconds(10)

  /// Names come from outside.
  var limit: Int
  private var nextLook = NIODeadline.uptimeNanoseconds(0)
  /// The number of names that one peer may claim without a certificate.
  var perPeer: Int
  private var devices: [DeviceName: OpenDevice] = [:]
  /// The names of each peer that has shown no certificate for them.
  private var names: [HubPeer: Set<DeviceName>] = [:]
  private var peers: [DeviceName: HubPeer] = [:]

  /// - Parameters:
  ///   - limit: of names.
  ///   - perPeer: of names that one peer may claim without a certificate.
  init(limit: Int, perPeer: Int) {
    self.limit = limit
    self.perPeer = perPeer
  }

  subscript(name: DeviceName) -> OpenDevice? { devices[name] }

  var all: [OpenDevice] { Array(devices.values) }

  var sorted: [(name: DeviceName, device: OpenDevice)] {
    devices.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
  }

  /// - Parameters:
  ///   - peer: that claims the name; `nil` where a certificate has it.
  ///   - make: makes the device, where it is new.
  /// - Returns: `nil` where there are too many.
  /// - Throws: ``BywayError`` where the peer has too many.
  mutating func device(
    named name: DeviceName, from peer: HubPeer?, _ make: () -> OpenDevice
  ) throws(BywayError) -> OpenDevice? {
    if let known = devices[name] { return known }
    if let peer, let own = names[peer], own.count >= perPeer, !forgetLongestAway(of: own) {
      throw BywayError(
        .refused,
        "A gateway that has dialed is not taken, because its address has \(own.count) names already: allow more by "
          + "--max-names-per-peer, or have gateways show certificates (a hub with tls: and ca=).", processing: .none)
    }
    guard devices.count < limit || forgetLongestAway(of: devices.keys) else { return nil }
    let device = make()
    devices[name] = device
    peers[name] = peer
    if let peer { names[peer, default: []].insert(name) }
    return device
  }

  /// Forgets those that have been away for long, if the last look was not just now.
  mutating func tidy(at now: NIODeadline) {
    if now >= nextLook { sweep(at: now) { _, _ in false } }
  }

  /// Forgets those that have been away for long, and those that are unwanted.
  mutating func sweep(at now: NIODeadline, where isUnwanted: (DeviceName, OpenDevice) -> Bool) {
    nextLook = now + Self.pause
    for (name, device) in devices {
      let isGone = device.upstream.status.lastSeen.map { now - $0 >= Self.patience } ?? false
      if isGone || isUnwanted(name, device) { forget(name) }
    }
  }

  mutating func forget(_ name: DeviceName) {
    devices.removeValue(forKey: name)?.upstream.retire()
    guard let peer = peers.removeValue(forKey: name) else { return }
    names[peer]?.remove(name)
    if names[peer]?.isEmpty ?? false { names[peer] = nil }
  }

  /// Makes room among names: a device that is there comes before one that was.
  private mutating func forgetLongestAway(of names: some Sequence<DeviceName>) -> Bool {
    let away = names.compactMap { name in devices[name]?.upstream.status.lastSeen.map { (since: $0, name: name) } }
    guard let name = away.min(by: { $0.since < $1.since })?.name else { return false }
    forget(name)
    return true
  }

  mutating func removeAll() {
    devices = [:]
    names = [:]
    peers = [:]
  }
}
