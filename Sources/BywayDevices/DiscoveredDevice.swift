package import Byway
package import NIOCore

/// A device that was found, and is not configured.
package struct DiscoveredDevice: Sendable, Hashable {
  package enum State: Sendable, Hashable {
    /// It can be used.
    case present
    /// Unplugged since then; removed a minute later.
    case away(since: NIODeadline)
    /// Plugged in, but cannot be opened: "in use by process 4711 (picocom)".
    case unavailable(String)
  }

  /// A unique name, which no configured device has.
  package var name: DeviceName
  /// The title from its claim, or its USB strings.
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
