public import Byway
package import BywayHTTPWire
import BywayPrimitives

/// The devices of a configuration, and the meaning of names. A value.
public struct DeviceDirectory: Sendable {
  /// The links of the default device, the best one first; empty if there is none.
  public let main: [Link]
  /// The named devices, in the order of the configuration.
  public let devices: [Device]
  /// Tried in this order for a name that is not a device's.
  public let patterns: [DevicePattern]
  package private(set) var hosts: DeviceHosts
  /// Whether more devices may be found.
  package let isOpen: Bool
  /// Links that gateways dial, each for the device whose name it claims.
  package let hubs: [Link]
  package let sharing: GatewaySharing
  /// The maximum number of names of devices that dial.
  package let mostDialed: Int
  /// How many of these names one peer may claim without a certificate.
  package let mostDialedByPeer: Int
  private let byName: [DeviceName: Device]

  package static let usualDialed = 4096

  /// Creates a directory of one device, which needs no name.
  public init(main link: Link) {
    main = [link]
    devices = []
    patterns = []
    isOpen = false
    hubs = []
    sharing = .newest
    mostDialed = Self.usualDialed
    mostDialedByPeer = .max
    byName = [:]
    hosts = .localhost
  }

  /// Creates a directory of devices by name.
  /// - Parameters:
  ///   - devices: the devices, with unique names.
  ///   - patterns: patterns of devices that are not listed.
  ///   - main: the links of the default device, for requests without a device's name; empty: none.
  ///   - suffixes: domains below which names are devices, in addition to `localhost`.
  /// - Throws: `BywayError` with code `invalidAddress` if a name occurs twice, or a suffix is not a domain.
  public init(
    _ devices: [Device], patterns: [DevicePattern] = [], main: [Link] = [], suffixes: [String] = []
  ) throws {
    try self.init(devices, patterns: patterns, main: main, suffixes: suffixes, isOpen: false)
  }

  /// - Parameters:
  ///   - isOpen: whether more devices may be found.
  ///   - hubs: links that gateways dial, each for the device whose name it claims.
  ///   - sharing: the use of several gateways that claim one name.
  ///   - mostDialed: the maximum number of names of devices that dial.
  ///   - mostDialedByPeer: how many of these names one peer may claim without a certificate.
  package init(
    _ devices: [Device], patterns: [DevicePattern], main: [Link], suffixes: [String], isOpen: Bool,
    hubs: [Link] = [], sharing: GatewaySharing = .newest, mostDialed: Int = usualDialed, mostDialedByPeer: Int = .max
  ) throws {
    self.hubs = hubs
    self.sharing = sharing
    self.mostDialed = mostDialed
    self.mostDialedByPeer = mostDialedByPeer
    if !main.isEmpty { try main.checkLinks() }
    self.isOpen = isOpen
    self.main = main
    self.devices = devices
    self.patterns = patterns
    hosts = try DeviceHosts(suffixes: suffixes)
    byName = try Dictionary(devices.map { ($0.name, $0) }) { first, _ in
      throw BywayError(.invalidAddress, "Two devices are called \(first.name): each needs a name of its own.")
    }
    if let pattern = patterns.first(where: \.isUniversal), isOpen || !hubs.isEmpty {
      throw BywayError(
        .invalidAddress,
        "\(pattern.text) matches every name, and leaves none for devices that are found or dial: write pi-\(pattern.text), "
          + "for example.")
    }
    if let taken = devices.first(where: { $0.name.description == DeviceHosts.frontPage }) {
      throw BywayError(.invalidAddress, "\(taken.name) is the name of the list of devices: choose another.")
    }
  }

  /// Whether names have no meaning here: all requests go to the one device.
  package var isUnnamed: Bool { devices.isEmpty && patterns.isEmpty && hubs.isEmpty && !isOpen }

  /// Returns the directory with names that mean no device, even below a suffix.
  package func reserving(_ names: [Authority]) -> DeviceDirectory {
    var directory = self
    directory.hosts.reserved = names
    return directory
  }

  /// The authority of the default device, or of the only device where there can be no other; `nil` if there are several.
  package var defaultAuthority: String? {
    if !main.isEmpty { return "localhost" }
    guard devices.count == 1, patterns.isEmpty, hubs.isEmpty, !isOpen else { return nil }
    return devices.first.map { "\($0.name).localhost" }
  }

  /// The suffixes below which the devices' names are; `nil` if there is only one device, which has no name.
  var siblings: DeviceHosts? { isUnnamed ? nil : hosts }

  package subscript(name: DeviceName) -> Device? { byName[name] }

  /// Returns the device of the first pattern that matches the name; `nil` if none does.
  /// - Throws: if its link would be invalid.
  func madeDevice(named name: DeviceName) throws -> Device? {
    try patterns.first { $0.matches(name) }?.device(named: name)
  }

  /// Whether the configuration defines the name, so that no other device can have it.
  package func hasGiven(_ name: DeviceName) -> Bool {
    byName[name] != nil || name.text == DeviceHosts.frontPage || patterns.contains { $0.matches(name) }
  }

  /// All configured links.
  package var links: [Link] { ownLinks + hubs }

  /// The links of the devices of the configuration.
  package var ownLinks: [Link] { main + devices.flatMap(\.links) }

  /// Returns the error for an unknown name.
  /// - Parameters:
  ///   - known: the known names.
  ///   - port: the port of the request's authority, which the list of devices has, too.
  package static func unknown(_ name: String, among known: [String], at port: UInt16?) -> BywayError {
    let hint = Spelling.nearest(to: name, among: known).map { " Did you mean \"\($0)\"?" } ?? ""
    let place = "\(DeviceHosts.frontPage).localhost\(port.map { ":\($0)" } ?? "")"
    return BywayError(
      .misdirected, "No device is called \"\(name)\".\(hint) http://\(place) lists the devices.", processing: .none)
  }

  func unknown(_ name: String, at port: UInt16?) -> BywayError {
    Self.unknown(name, among: devices.prefix(256).map(\.name.text), at: port)
  }
}

extension DeviceHosts {
  /// Only below `localhost`.
  fileprivate static let localhost = DeviceHosts()

  fileprivate init() {
    suffixes = ["localhost"]
  }
}
