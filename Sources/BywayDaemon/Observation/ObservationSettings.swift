package import Byway

/// The settings of what can be observed of a daemon from outside.
package struct ObservationSettings: Sendable {
  /// The link on which metrics are served; `nil` if they are not.
  package var metrics: Link?
  /// Whether other machines may read them.
  package var metricsAnywhere = false
  /// The link of the inspector; `nil` if there is none.
  package var inspector: Link?
  /// How much of each body the inspector keeps.
  package var inspectedBytes = 1 << 20
  package var inspectSecrets = false
  /// The path of the access log, or `-`; `nil` if there is none.
  package var accessLog: String?
  package var accessLogFormat = AccessLogFormat.combined
  /// The options that cannot change while a daemon runs, with their values as text.
  package var fixed: [String: String] = [:]

  package init() {}
}
