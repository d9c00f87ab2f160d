import Logging

/// The lowest level that a daemon logs after its ready line.
package enum LogLevel: String, CaseIterable, Sendable {
  case trace, debug, info, notice, warning, error, critical

  /// The names of all levels.
  package static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

  var level: Logger.Level { Logger.Level(rawValue: rawValue) ?? .info }
}
