/// What people reach by one name: docs/devices.md. A value.
public struct Device: Sendable {
  /// Its label beneath `localhost` and the suffixes of a ``DeviceDirectory``.
  public let name: DeviceName
  /// What people call it; `nil` where nobody has said.
  public let title: String?
  /// Links to its gateway, the better one first.
  public let roads: [Link]

  /// A device behind one link or several.
  /// - Throws: ``BywayError`` with code `invalidAddress` where there is no road, or they cannot be roads to one device.
  public init(_ name: DeviceName, title: String? = nil, roads: [Link]) throws {
    guard !roads.isEmpty else {
      throw BywayError(.invalidAddress, "The device \(name) has no link: write \(name)=LINK.")
    }
    try roads.checkRoads()
    self.name = name
    self.title = title
    self.roads = roads
  }
}

extension [Link] {
  /// Two lists with the same one are one way to one device.
  var identity: [String] { map(\.address.text) }
}
