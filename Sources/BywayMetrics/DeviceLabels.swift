import Byway

/// The names of devices in metrics, a limited number: a name can come from a client, or from a gateway that claims it.
struct DeviceLabels: Sendable {
  /// The maximum number of names.
  static let limit = 100
  /// The maximum number of names among them that the configuration does not have, so that those of the configuration find room.
  static let limitOfOthers = 50

  private var last: String?
  private var known: Set<String> = []
  private var others = 0

  /// Returns the name, or `_OTHER` where names have no room.
  /// - Parameter wasSent: whether the device has received a request. Without one it may not exist.
  mutating func label(of device: ExchangeRecord.Device, wasSent: Bool) -> String {
    let name = device.name
    if name == last { return name }
    if !known.contains(name) {
      guard known.count < Self.limit, device.isConfigured || (wasSent && others < Self.limitOfOthers) else {
        return "_OTHER"
      }
      known.insert(name)
      if !device.isConfigured { others += 1 }
    }
    last = name
    return name
  }
}
