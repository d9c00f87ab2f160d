/// A time during which a session waits for its line.
package enum Interruption: Equatable, Sendable {
  /// The line was lost at this time.
  case lost(at: UInt64)
  /// The line exists, but the peer does not answer. Its latest frame arrived at this time.
  case silent(since: UInt64)

  package var since: UInt64 {
    switch self {
    case .lost(let time), .silent(let time): time
    }
  }
}
