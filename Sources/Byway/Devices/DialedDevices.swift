import NIOCore

/// The devices whose gateways have dialed, by the names that they say. They come without being configured, and go again.
///
/// Lives on its event loop.
struct DialedDevices {
  /// Names come from outside.
  private static let limit = 4096
  /// After which one is forgotten that has not dialed again.
  static let patience = TimeAmount.minutes(10)

  private var devices: [DeviceName: OpenDevice] = [:]

  subscript(name: DeviceName) -> OpenDevice? { devices[name] }

  var all: [OpenDevice] { Array(devices.values) }

  var sorted: [(name: DeviceName, device: OpenDevice)] {
    devices.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
  }

  /// - Parameter make: one that nobody has asked for yet.
  /// - Returns: `nil` where there are too many.
  mutating func device(named name: DeviceName, _ make: () -> OpenDevice) -> OpenDevice? {
    if let known = devices[name] { return known }
    guard devices.count < Self.limit else { return nil }
    let device = make()
    devices[name] = device
    return device
  }

  /// Forgets those that have been away for long, and those that `isUnwanted` names.
  mutating func sweep(at now: NIODeadline, where isUnwanted: (DeviceName) -> Bool = { _ in false }) {
    for (name, device) in devices {
      let isGone = device.upstream.status.lastSeen.map { now - $0 >= Self.patience } ?? false
      guard isGone || isUnwanted(name) else { continue }
      devices[name] = nil
      device.upstream.retire()
    }
  }

  mutating func removeAll() {
    devices = [:]
  }
}
