import Byway

/// What came of logging in as a link would: as far as the journal tells, and the error at its end.
struct ExaminedLogin: Sendable {
  /// In the order in which they are met.
  let visits: [SSHVisit]
  let error: BywayError?
  let opening: Link.Opening

  /// One server on the way.
  struct Stop: Sendable {
    let visit: SSHVisit
    /// Why it went no further than here; `nil` where it did.
    let error: BywayError?
  }

  func stop(_ index: Int) -> Stop {
    let isLast = index == visits.firstIndex { $0.stage < .loggedIn }
    return Stop(visit: visits[index], error: isLast ? error : nil)
  }
}
