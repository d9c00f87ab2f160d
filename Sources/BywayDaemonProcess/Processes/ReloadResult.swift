package import BywayTerminal

/// The result of a reload.
package enum ReloadResult: Sendable {
  /// - Parameter atStart: the names of changed options that take effect at the next start only.
  case done(atStart: [String])
  /// The reasons; at least one.
  case refused([CommandFailure])
}
