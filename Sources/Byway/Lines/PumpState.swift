/// The state of a loop that the events it causes may ask for again.
enum PumpState {
  case resting
  case running
  /// Something has happened since the current round began.
  case due

  /// Asks for a round. Returns whether the caller has to run the loop: it does not run already.
  mutating func request() -> Bool {
    let isResting = self == .resting
    self = .due
    return isResting
  }

  /// Begins a round if one was asked for, and otherwise ends the loop.
  mutating func nextRound() -> Bool {
    let isDue = self == .due
    self = isDue ? .running : .resting
    return isDue
  }
}
