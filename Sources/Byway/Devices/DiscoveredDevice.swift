package import NIOCore

/// A device that was found, and not configured.
package struct DiscoveredDevice: Sendable, Hashable {
  package enum State: Sendable, Hashable {
    /// It can be asked.
    case present
    /// Unplugged since then; a minute later it is gone.
    case away(since: NIODeadline)
    /// Plugged in, and not to be opened: "in use by process 4711 (picocom)".
    case obstructed(String)
  }

  /// Of no other device, and of none that is configured.
  package var name: DeviceName
  /// What it says of itself, or its USB strings.
  package var title: DeviceText?
  /// The address of its link.
  package var link: String
  package var state: State

  var isThere: Bool {
    if case .away = state { false } else { true }
  }

  package init(name: DeviceName, title: DeviceText?, link: String, state: State) {
    self.name = name
    self.title = title
    self.link = link
    self.state = state
  }
}
