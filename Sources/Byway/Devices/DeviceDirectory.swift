package import HTTPWire
import Primitives

/// Which devices there are, and who is meant by a name. A value.
public struct DeviceDirectory: Sendable {
  /// The links of the default device, the better one first; empty where there is none.
  public let main: [Link]
  /// In the order of the configuration.
  public let devices: [Device]
  /// Asked in this order for a name that is not a device's.
  public let patterns: [DevicePattern]
  package private(set) var hosts: DeviceHosts
  /// Others may be found besides.
  package let isOpen: Bool
  /// Links that gateways dial, each for the device that it says to be.
  package let hubs: [Link]
  package let sharing: GatewaySharing
  /// How many names may be known of those that dial.
  package let mostDialed: Int
  /// How many of them one peer may claim without a certificate.
  package let mostDialedByPeer: Int
  private let byName: [DeviceName: Device]

  package static let usualDialed = 4096

  /// One device, which needs no name.
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

  /// Devices by name.
  /// - Parameters:
  ///   - devices: each with a name of its own.
  ///   - patterns: of devices that are not listed.
  ///   - main: links of the device that is meant where none is named; empty: none is.
  ///   - suffixes: domains beneath which names are devices', besides `localhost`.
  /// - Throws: ``BywayError`` with code `invalidAddress` where a name is there twice, or a suffix is not a domain.
  public init(
    _ devices: [Device], patterns: [DevicePattern] = [], main: [Link] = [], suffixes: [String] = []
  ) throws {
    try self.init(devices, patterns: patterns, main: main, suffixes: suffixes, isOpen: false)
  }

  /// - Parameters:
  ///   - isOpen: others may be found besides.
  ///   - hubs: links that gateways dial, each for the device that it says to be.
  ///   - sharing: what becomes of a name that several gateways claim.
  ///   - mostDialed: how many names may be known of those that dial.
  ///   - mostDialedByPeer: how many of them one peer may claim without a certificate.
  package init(
    _ devices: [Device], patterns: [DevicePattern], main: [Link], suffixes: [String], isOpen: Bool,
    hubs: [Link] = [], sharing: GatewaySharing = .newest, mostDialed: Int = usualDialed, mostDialedByPeer: Int = .max
  ) throws {
    self.hubs = hubs
    self.sharing = sharing
    self.mostDialed = mostDialed
    self.mostDialedByPeer = mostDialedByPeer
    if !main.isEmpty { try main.checkRoads() }
    self.isOpen = isOpen
    self.main = main
    self.devices = devices
    self.patterns = patterns
    hosts = try DeviceHosts(suffixes: suffixes)
    byName = try Dictionary(devices.map { ($0.name, $0) }) { first, _ in
      throw BywayError(.invalidAddress, "Two devices are called \(first.name): a name is one device's.")
    }
    if let pattern = patterns.first(where: \.isUniversal), isOpen || !hubs.isEmpty {
      throw BywayError(
        .invalidAddress,
        "\(pattern.text) is every name, so that nothing that is found or dials could have one: write pi-\(pattern.text), "
          + "for example.")
    }
    if let taken = devices.first(where: { $0.name.description == DeviceHosts.frontPage }) {
      throw BywayError(.invalidAddress, "\(taken.name) is the name of the list of devices: choose another.")
    }
  }

  /// Names mean nothing here: whatever is asked for goes to the one device.
  package var isUnnamed: Bool { devices.isEmpty && patterns.isEmpty && hubs.isEmpty && !isOpen }

  /// Returns the directory with names that mean no device, whatever they stand beneath.
  package func reserving(_ names: [Authority]) -> DeviceDirectory {
    var directory = self
    directory.hosts.reserved = names
    return directory
  }

  /// The authority by which the default device is asked for, or the only one where there can be no other; `nil` where there are several.
  package var defaultAuthority: String? {
    if !main.isEmpty { return "localhost" }
    guard devices.count == 1, patterns.isEmpty, hubs.isEmpty, !isOpen else { return nil }
    return devices.first.map { "\($0.name).localhost" }
  }

  /// Beneath which the devices' names stand; `nil` where there is only one, which has none.
  var siblings: DeviceHosts? { isUnnamed ? nil : hosts }

  package subscript(name: DeviceName) -> Device? { byName[name] }

  /// The device that the first pattern which has that name makes of it; `nil` where none has.
  /// - Throws: where its link would not be one.
  func madeDevice(named name: DeviceName) throws -> Device? {
    try patterns.first { $0.matches(name) }?.device(named: name)
  }

  /// The configuration says whose name this is, and nobody else can have it.
  package func hasGiven(_ name: DeviceName) -> Bool {
    byName[name] != nil || name.text == DeviceHosts.frontPage || patterns.contains { $0.matches(name) }
  }

  /// All links that are configured.
  package var links: [Link] { main + devices.flatMap(\.roads) + hubs }

  /// Why a name leads nowhere.
  /// - Parameter known: names that there are.
  package static func unknown(_ name: String, among known: [String]) -> BywayError {
    let hint = Spelling.nearest(to: name, among: known).map { " Did you mean \"\($0)\"?" } ?? ""
    return BywayError(
      .misdirected,
      "No device is called \"\(name)\".\(hint) http://\(DeviceHosts.frontPage).localhost lists those that there are.",
      processing: .none)
  }

  func unknown(_ name: String) -> BywayError { Self.unknown(name, among: devices.prefix(256).map(\.name.text)) }
}

extension DeviceHosts {
  /// Beneath nothing else.
  fileprivate static let localhost = DeviceHosts()

  fileprivate init() {
    suffixes = ["localhost"]
  }
}
