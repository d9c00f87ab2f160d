/// Counters of a link's events since the start of this end.
package struct LinkCounts: Sendable, Hashable {
  /// How often it opened, for the first time or again.
  package var openings: UInt64 = 0
  /// How often it ended while it was needed, or stopped answering.
  package var losses: UInt64 = 0
  /// How many attempts to open it failed.
  package var failures: UInt64 = 0

  package init() {}
}
