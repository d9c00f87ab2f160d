import NIOCore

/// How a connection has treated its requests. One that fails each at once is never busy, and would attract them all.
///
/// Only decides: time is an argument.
struct ServiceRecord {
  /// So many failures in a row are no chance any more.
  private static let tolerated = 1
  /// So many refusals in a row say that it takes none: fewer than one request may meet.
  private static let refusing = RetryRules.maximumAttempts - 1
  /// They double with each failure after a rest.
  private static let rests = (shortest: TimeAmount.seconds(1), longest: TimeAmount.seconds(30))

  /// A response began at least once.
  private(set) var hasAnswered = false
  /// Since a response began.
  private var failures = 0
  private var refusals = 0
  private var restsUntil = NIODeadline.uptimeNanoseconds(0)

  /// - Parameter status: of its response. What could not reach an origin says so at once, too (RFC 9110 §15.6.3 to §15.6.5).
  mutating func answered(_ status: Int?, at now: @autoclosure () -> NIODeadline) {
    hasAnswered = true
    if let status, (502...504).contains(status) { return failed(isRefusal: false, at: now()) }
    failures = 0
    refusals = 0
    restsUntil = .uptimeNanoseconds(0)
  }

  /// It has ended a request without a response.
  /// - Parameter isRefusal: unseen.
  mutating func failed(isRefusal: Bool, at now: NIODeadline) {
    refusals = isRefusal ? refusals + 1 : 0
    // What was under way before it rested tells nothing new.
    guard !rests(at: now) else { return }
    failures += 1
    guard failures > Self.tolerated else { return }
    let doubled = Self.rests.shortest.nanoseconds << Int64(min(failures - Self.tolerated - 1, 16))
    restsUntil = now + .nanoseconds(min(doubled, Self.rests.longest.nanoseconds))
  }

  /// Others are better at the moment.
  func rests(at now: NIODeadline) -> Bool { now < restsUntil }

  /// It takes no requests.
  var refusesAll: Bool { refusals >= Self.refusing }
}
