import Byway

/// The result of logging in as a link would: the journal's records, and the final error.
struct ExaminedLogin: Sendable {
  /// The servers, in the order of connection.
  let hops: [SSHHop]
  let error: BywayError?
  let opening: Link.Opening

  /// A server on the path.
  struct Stop: Sendable {
    let hop: SSHHop
    /// The reason why the login stopped at this server; `nil` if it did not.
    let error: BywayError?
  }

  func stop(_ index: Int) -> Stop {
    let isLast = index == hops.firstIndex { $0.stage < .loggedIn }
    return Stop(hop: hops[index], error: isLast ? error : nil)
  }
}
