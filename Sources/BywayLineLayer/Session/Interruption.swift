/// A time during which a session waits for its line.
package enum Interruption: Equatable, Sendable {
  /// The line was lost at this time.
  case lost(at: UInt64)
  /// The line is there, but the peer answers nothing: its last frame was heard at this time.
  case silent(since: UInt64)

  package var since: UInt64 {
    switch self {
    case .lost(let time), .silent(let time): time
    }
  }
}
