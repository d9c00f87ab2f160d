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
  private var devices: [DeviceName: OpenDevice] = [:]

  /// - Parameter limit: of names.
  init(limit: Int) {
    self.limit = limit
  }

  subscript(name: DeviceName) -> OpenDevice? { devices[name] }

  var all: [OpenDevice] { Array(devices.values) }

  var sorted: [(name: DeviceName, device: OpenDevice)] {
    devices.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
  }

  /// - Parameter make: one that nobody has asked for yet.
  /// - Returns: `nil` where there are too many.
  mutating func device(named name: DeviceName, _ make: () -> OpenDevice) -> OpenDevice? {
    if let known = devices[name] { return known }
    guard devices.count < limit || forgetLongestAway() else { return nil }
    let device = make()
    devices[name] = device
    return device
  }

  /// Forgets those that have been away for long, if nobody has looked for them just now.
  mutating func tidy(at now: NIODeadline) {
    if now >= nextLook { sweep(at: now) { _, _ in false } }
  }

  /// Forgets those that have been away for long, and those that are unwanted.
  mutating func sweep(at now: NIODeadline, where isUnwanted: (DeviceName, OpenDevice) -> Bool) {
    nextLook = now + Self.pause
    for (name, device) in devices {
      let isGone = device.upstream.status.lastSeen.map { now - $0 >= Self.patience } ?? false
      guard isGone || isUnwanted(name, device) else { continue }
      devices[name] = nil
      device.upstream.retire()
    }
  }

  mutating func forget(_ name: DeviceName) {
    devices.removeValue(forKey: name)?.upstream.retire()
  }

  /// Who is there has a name before who was.
  private mutating func forgetLongestAway() -> Bool {
    let away = devices.compactMap { name, device in device.upstream.status.lastSeen.map { (since: $0, name: name) } }
    guard let name = away.min(by: { $0.since < $1.since })?.name else { return false }
    devices.removeValue(forKey: name)?.upstream.retire()
    return true
  }

  mutating func removeAll() {
    devices = [:]
  }
}
