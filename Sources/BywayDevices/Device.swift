public import Byway

/// A device, which users reach by one name: docs/devices.md. A value.
public struct Device: Sendable {
  /// Its label below `localhost` and the suffixes of a ``DeviceDirectory``.
  public let name: DeviceName
  /// Its title for users; `nil` if it has none.
  public let title: String?
  /// The links to its gateway, the best one first.
  public let links: [Link]

  /// Creates a device behind one link or several.
  /// - Throws: `BywayError` with code `invalidAddress` if there is no link, or they cannot be links of one device.
  public init(_ name: DeviceName, title: String? = nil, links: [Link]) throws {
    guard !links.isEmpty else {
      throw BywayError(.invalidAddress, "The device \(name) has no link: write \(name)=LINK.")
    }
    try links.checkLinks()
    self.name = name
    self.title = title
    self.links = links
  }
}

extension [Link] {
  /// Two lists with the same value lead to one device.
  var identity: [String] { map(\.address.text) }
}
