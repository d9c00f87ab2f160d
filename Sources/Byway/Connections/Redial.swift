package import NIOCore

/// When an end that dials tries again.
///
/// Over a network many such ends lose the same remote end at once. If their first attempts were immediate, all would dial in the same
/// moment, and the replacement would have to handle all handshakes at once.
package struct Redial: Sendable {
  /// A link that lasted longer than this was a success.
  private static let successfulLife = TimeAmount.seconds(10)
  private static let usualJitter = TimeAmount.seconds(1)
  /// The longest pause over a network. A peer that refuses a link is asked less often than one that is absent: its administrator has to act.
  private static let longestPause = TimeAmount.seconds(10)
  private static let longestAfterRefusal = TimeAmount.seconds(30)

  private let crossesNetwork: Bool
  private let jitter: TimeAmount
  private var backoff = Backoff()
  private var isSpread = false

  /// - Parameter jitter: the time over which the first attempts of all clients that lost a link together are spread; `nil`: the default for
  ///   the kind of link.
  package init(crossesNetwork: Bool, jitter: TimeAmount? = nil) {
    self.crossesNetwork = crossesNetwork
    self.jitter = jitter ?? (crossesNetwork ? Self.usualJitter : .zero)
    if crossesNetwork { backoff.initial = .seconds(1) }
    limitPause(to: Self.longestPause)
  }

  /// The link has ended.
  /// - Parameter isRefused: whether the other end does not want it.
  package mutating func lost(after life: TimeAmount, isRefused: Bool = false) {
    if life > Self.successfulLife { backoff.reset() }
    if life <= Self.successfulLife || isRefused { backoff.fail() }
    limitPause(to: isRefused ? Self.longestAfterRefusal : Self.longestPause)
    isSpread = true
  }

  /// The link could not be opened. Later attempts are spread already.
  package mutating func failed() {
    backoff.fail()
    limitPause(to: Self.longestPause)
    isSpread = false
  }

  /// A local socket keeps the limit of all links.
  private mutating func limitPause(to longest: TimeAmount) {
    if crossesNetwork { backoff.maximum = longest }
  }

  /// Returns the pause before the next attempt.
  /// - Parameter fraction: a random number from 0 to 1.
  package func pause(fraction: Double) -> TimeAmount {
    let spread = TimeAmount.nanoseconds(Int64(Double(jitter.nanoseconds) * min(max(fraction, 0), 1)))
    return backoff.pause(fraction: fraction) + (isSpread ? spread : .zero)
  }
}

extension LinkAddress {
  private static let longestJitter = 600.0

  /// The time over which redials are spread, as given by the address; `nil` without the option.
  /// - Throws: ``BywayError`` with code `invalidAddress`.
  func jitter() throws -> TimeAmount? {
    guard let text = self[option: "jitter"] else { return nil }
    guard let seconds = Double(text), (0...Self.longestJitter).contains(seconds) else {
      throw BywayError(
        .invalidAddress, "jitter=\(text) is not a time: write seconds, from 0 to \(Int(Self.longestJitter)).")
    }
    return .nanoseconds(Int64(seconds * 1e9))
  }
}
