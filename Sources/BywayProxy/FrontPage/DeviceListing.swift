import Byway
import BywayDevices
import BywayPrimitives
import NIOCore

/// The content of the list of devices. It has no secrets: addresses come without their options.
struct DeviceListing: Sendable, Hashable {
  enum State: Sendable, Hashable {
    case link(LinkState)
    /// Unplugged.
    case away
    /// Another program uses its port.
    case unavailable

    var text: String {
      switch self {
      case .link(let state): state.rawValue
      case .away: "away"
      case .unavailable: "unavailable"
      }
    }
  }

  struct Device: Sendable, Hashable {
    /// `nil`: the default device.
    let name: String?
    let title: String?
    let url: String
    let links: [Link]
    let state: State
    /// The reason that its link is down or cannot be opened.
    let reason: String?
    /// The command that fixes this.
    let remedy: String?
    /// When its link was last open, in seconds since 1970; `nil` if it is open now, or never was.
    let lastSeen: Int?
  }

  /// A link of a device.
  struct Link: Sendable, Hashable {
    let address: String
    let use: Use

    enum Use: Sendable, Hashable {
      /// It is the only one, or its state is unknown.
      case unknown
      case inUse, ready, down
    }
  }

  let devices: [Device]
  /// Empty for readers that may not know who dials.
  let hubs: [HubReport]
  /// The content while there are no devices.
  let beginning: Beginning?

  init(_ entries: [DeviceEntry], hubs: [HubReport] = [], at place: DevicePlace, beginning: Beginning? = nil) {
    devices = entries.map { Device($0, at: place) }
    self.hubs = hubs
    self.beginning = beginning
  }

  var json: JSON {
    [
      "schema": 1, "devices": .array(devices.map(\.json)), "hubs": hubs.isEmpty ? nil : .array(hubs.map(\.json)),
      "ports": beginning?.json,
    ]
  }
}

extension DeviceListing.Device {
  fileprivate init(_ entry: DeviceEntry, at place: DevicePlace) {
    name = entry.name?.text
    title = entry.title
    url = place.url(of: entry.name)
    links = entry.addresses.map { DeviceListing.Link($0, of: entry) }
    lastSeen = (entry.leftAt ?? entry.status.lastSeen).map { .secondsSinceEpoch(of: $0) }
    remedy =
      if case .down(let error) = entry.status.state { error.diagnosis?.command.map(entry.withoutOptions) } else { nil }
    switch entry.discovery {
    case .away: (state, reason) = (.away, nil)
    case .unavailable(let unavailableReason): (state, reason) = (.unavailable, unavailableReason)
    case .present, nil:
      let link = LinkState(entry.status.state, isInbound: entry.isInbound)
      // While the link waits for a gateway, the reason that the last one has gone is left out.
      (state, reason) = (.link(link), link == .waiting ? nil : entry.status.state.reason.map(entry.withoutOptions))
    }
  }

  fileprivate var json: JSON {
    [
      "name": name.map { .string($0) }, "title": title.map { .string($0) }, "url": .string(url),
      "links": .array(links.map { .string($0.address) }),
      "linkInUse": links.first { $0.use == .inUse }.map { .string($0.address) }, "state": .string(state.text),
      "reason": reason.map { .string($0) },
      "lastSeen": lastSeen.map { .string(CalendarTime(secondsSinceEpoch: $0).utc) },
    ]
  }
}

extension DeviceListing.Link {
  fileprivate init(_ address: LinkAddress, of entry: DeviceEntry) {
    self.address = address.publicName
    use =
      switch entry.status.links.first(where: { $0.address?.text == address.text })?.state {
      case .up: .inUse
      case .standingBy: .ready
      case .down: .down
      case nil: .unknown
      }
  }
}

extension DeviceEntry {
  /// Removes the options from the addresses in a message: they name files, for example.
  fileprivate func withoutOptions(_ message: String) -> String {
    addresses.reduce(message) { $0.replacing($1.text, with: $1.publicName) }
  }

  fileprivate var leftAt: NIODeadline? {
    if case .away(let since) = discovery { since } else { nil }
  }
}
