import Byway
import NIOCore
import Primitives

/// The devices as their list tells of them. Nothing in it is a secret: addresses come without their options.
struct DeviceListing: Sendable, Hashable {
  enum State: String, Sendable {
    /// Nobody has asked for it yet.
    case idle
    case opening
    case up
    /// Its line is gone, and requests wait for it.
    case interrupted
    /// It was up, and nobody has needed it since.
    case closed
    case down
    /// For its gateway, which opens the link.
    case waiting
    /// Unplugged.
    case away
    /// Something else has its port.
    case obstructed
  }

  struct Device: Sendable, Hashable {
    /// `nil`: the default device.
    let name: String?
    let title: String?
    let url: String
    let roads: [String]
    let state: State
    /// Why it is down, or cannot be opened.
    let reason: String?
    /// When its link was last open; `nil` where it is open now, or never was. In seconds since 1970.
    let lastSeen: Int?
  }

  let devices: [Device]

  init(_ entries: [DeviceEntry], at place: DevicePlace) {
    devices = entries.map { Device($0, at: place) }
  }

  var json: JSON { ["schema": 1, "devices": .array(devices.map(\.json))] }
}

extension DeviceListing.Device {
  fileprivate init(_ entry: DeviceEntry, at place: DevicePlace) {
    name = entry.name?.text
    title = entry.title
    url = place.url(of: entry.name)
    roads = entry.addresses.map(\.publicName)
    lastSeen = (entry.leftAt ?? entry.status.lastSeen).map { .secondsSinceEpoch(of: $0) }
    switch entry.status.state {
    case _ where entry.leftAt != nil: (state, reason) = (.away, nil)
    case _ where entry.obstacle != nil: (state, reason) = (.obstructed, entry.obstacle)
    case .open: (state, reason) = (.up, nil)
    case .interrupted(let interruption): (state, reason) = (.interrupted, interruption.reason)
    case _ where entry.isInbound: (state, reason) = (.waiting, nil)
    case .idle: (state, reason) = (.idle, nil)
    case .opening: (state, reason) = (.opening, nil)
    case .closed: (state, reason) = (.closed, nil)
    case .down(let error): (state, reason) = (.down, error.message)
    }
  }

  fileprivate var json: JSON {
    [
      "name": name.map { .string($0) }, "title": title.map { .string($0) }, "url": .string(url),
      "roads": .array(roads.map { .string($0) }), "state": .string(state.rawValue),
      "reason": reason.map { .string($0) }, "lastSeen": lastSeen.map { .string(.utc($0)) },
    ]
  }
}

extension DeviceEntry {
  fileprivate var leftAt: NIODeadline? {
    if case .away(let since) = discovery { since } else { nil }
  }

  fileprivate var obstacle: String? {
    if case .obstructed(let reason) = discovery { reason } else { nil }
  }
}

extension String {
  /// RFC 3339.
  static func utc(_ secondsSinceEpoch: Int) -> String {
    let time = CalendarTime(secondsSinceEpoch: secondsSinceEpoch)
    return "\(time.date)T\(time.timeOfDay)Z"
  }
}
