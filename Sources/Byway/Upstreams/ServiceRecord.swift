import NIOCore

/// How a connection has served its requests. A connection that fails each request immediately is never busy, and would attract all of them.
///
/// A pure decision: time is an argument.
struct ServiceRecord {
  /// The number of consecutive failures that count as chance.
  private static let tolerated = 1
  /// The number of consecutive refusals after which the connection is taken to refuse all requests: fewer than the attempts of one request.
  private static let refusing = RetryRules.maximumAttempts - 1
  /// How long it is avoided; doubles with each failure after such a rest.
  private static let rests = (shortest: TimeAmount.seconds(1), longest: TimeAmount.seconds(30))

  /// Whether a response has ever begun.
  private(set) var hasAnswered = false
  /// Failures since the last response.
  private var failures = 0
  private var refusals = 0
  private var restsUntil = NIODeadline.uptimeNanoseconds(0)

  /// - Parameter status: the status of the response. 502 to 504 count as failures: a gateway that cannot reach an origin reports them
  ///   immediately, too (RFC 9110 §15.6.3 to §15.6.5).
  mutating func answered(_ status: Int?, at now: @autoclosure () -> NIODeadline) {
    hasAnswered = true
    if let status, (502...504).contains(status) { return failed(isRefusal: false, at: now()) }
    failures = 0
    refusals = 0
    restsUntil = .uptimeNanoseconds(0)
  }

  /// A request has ended without a response.
  /// - Parameter isRefusal: whether the remote end did not process it.
  mutating func failed(isRefusal: Bool, at now: NIODeadline) {
    refusals = isRefusal ? refusals + 1 : 0
    // Failures of requests that were sent before the rest say nothing new.
    guard !rests(at: now) else { return }
    failures += 1
    guard failures > Self.tolerated else { return }
    let doubled = Self.rests.shortest.nanoseconds << Int64(min(failures - Self.tolerated - 1, 16))
    restsUntil = now + .nanoseconds(min(doubled, Self.rests.longest.nanoseconds))
  }

  /// Whether other connections are preferred at the moment.
  func rests(at now: NIODeadline) -> Bool { now < restsUntil }

  /// Whether it refuses all requests.
  var refusesAll: Bool { refusals >= Self.refusing }
}
