/// What has happened to a link, since this end began. They only grow.
package struct LinkCounts: Sendable, Hashable {
  /// It opened, for the first time or again.
  package var openings: UInt64 = 0
  /// It ended while it was needed, or did not answer any more.
  package var losses: UInt64 = 0
  /// Tries to open it that came to nothing.
  package var failures: UInt64 = 0

  package init() {}
}
