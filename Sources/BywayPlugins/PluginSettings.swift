package import Byway
package import NIOCore

/// The settings of a plugin.
package struct PluginSettings: Sendable, Hashable {
  /// The reaction to a plugin that does not answer.
  package enum FailurePolicy: String, Sendable, CaseIterable {
    /// The request fails.
    case refuse
    /// The request goes on without the plugin, if it can still be sent as a whole, and at most once where that matters.
    case bypass
  }

  /// When its program is started.
  package enum Start: String, Sendable, CaseIterable {
    case firstUse = "first-use"
    /// With the daemon, and again whenever it has ended.
    case now
  }

  /// The name in messages and logs.
  package var name: String
  /// The requests that the plugin gets.
  package var scope = Scope.everything
  package var onFailure = FailurePolicy.refuse
  package var start = Start.firstUse
  /// The time that the plugin itself may take until the head of its response. The time in which it waits for the next hop, or for the
  /// client's request, does not count.
  package var timeout = TimeAmount.seconds(30)

  package init(name: String) {
    self.name = name
  }
}
