import Byway
import NIOCore

/// The devices whose gateways have dialed, by the names that they claim. They are added and removed without configuration.
///
/// Lives on its event loop.
struct DialedDevices {
  /// The time after which a device is removed that has not dialed again.
  static let patience = TimeAmount.minutes(10)
  /// The least time between two searches for such devices, however many dial.
  private static let pause = TimeAmount.seconds(10)

  /// The maximum number of names, because they come from outside.
  var limit: Int
  private var nextLook = NIODeadline.uptimeNanoseconds(0)
  /// The maximum number of names that one peer may claim without a certificate.
  var perPeer: Int
  private var devices: [DeviceName: DialedDevice] = [:]
  /// The names that each peer has claimed without a certificate.
  private var names: [HubPeer: Set<DeviceName>] = [:]
  private var peers: [DeviceName: HubPeer] = [:]

  /// - Parameters:
  ///   - limit: the maximum number of names.
  ///   - perPeer: the maximum number of names that one peer may claim without a certificate.
  init(limit: Int, perPeer: Int) {
    self.limit = limit
    self.perPeer = perPeer
  }

  subscript(name: DeviceName) -> DialedDevice? { devices[name] }

  var all: [DialedDevice] { Array(devices.values) }

  var sorted: [(name: DeviceName, device: DialedDevice)] {
    devices.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
  }

  /// Returns the device of that name, or makes one.
  /// - Parameters:
  ///   - peer: the peer that claims the name; `nil` if a certificate has it.
  ///   - make: makes a new device.
  /// - Throws: ``HubRefusal`` if there are too many.
  mutating func device(
    named name: DeviceName, from peer: HubPeer?, _ make: () -> DialedDevice
  ) throws(HubRefusal) -> DialedDevice {
    if let known = devices[name] { return known }
    if let peer, let own = names[peer], own.count >= perPeer, !removeLongestAway(of: own) {
      throw .tooManyNames(
        name,
        "its address has \(own.count) names already: allow more with \(Advice.raise(.namesPerPeer)), or have gateways show "
          + "certificates (a hub with tls: and ca=)")
    }
    guard devices.count < limit || removeLongestAway(of: devices.keys) else { throw .full(name, limit: limit) }
    let device = make()
    devices[name] = device
    peers[name] = peer
    if let peer { names[peer, default: []].insert(name) }
    return device
  }

  /// Removes devices that have been away for long, unless the last search was recent.
  mutating func tidy(at now: NIODeadline) {
    if now >= nextLook { sweep(at: now) { _, _ in false } }
  }

  /// Removes devices that have been away for long, and those that are unwanted.
  mutating func sweep(at now: NIODeadline, where isUnwanted: (DeviceName, DialedDevice) -> Bool) {
    nextLook = now + Self.pause
    for (name, device) in devices {
      let isGone = device.status.lastSeen.map { now - $0 >= Self.patience } ?? false
      if isGone || isUnwanted(name, device) { remove(name) }
    }
  }

  mutating func remove(_ name: DeviceName) {
    devices.removeValue(forKey: name)?.retire()
    guard let peer = peers.removeValue(forKey: name) else { return }
    names[peer]?.remove(name)
    if names[peer]?.isEmpty ?? false { names[peer] = nil }
  }

  /// Removes the device of these names that has been disconnected for longest. Connected devices are kept.
  private mutating func removeLongestAway(of names: some Sequence<DeviceName>) -> Bool {
    let away = names.compactMap { name in devices[name]?.status.lastSeen.map { (since: $0, name: name) } }
    guard let name = away.min(by: { $0.since < $1.since })?.name else { return false }
    remove(name)
    return true
  }

  mutating func removeAll() {
    devices = [:]
    names = [:]
    peers = [:]
  }
}
