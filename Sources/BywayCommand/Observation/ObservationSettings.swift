import Byway

/// The settings of what can be observed of a daemon from outside.
struct ObservationSettings: Sendable {
  /// The link on which metrics are served; `nil` if they are not.
  var metrics: Link?
  /// Whether other machines may read them.
  var metricsAnywhere = false
  /// The link of the inspector; `nil` if there is none.
  var inspector: Link?
  /// How much of each body the inspector keeps.
  var inspectedBytes = 1 << 20
  var inspectSecrets = false
  /// The path of the access log, or `-`; `nil` if there is none.
  var accessLog: String?
  var accessLogFormat = AccessLogFormat.combined
  /// The options that cannot change while a daemon runs, with their values as text.
  var fixed: [String: String] = [:]
}
