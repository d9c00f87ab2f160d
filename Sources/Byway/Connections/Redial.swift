package import NIOCore

/// When an end that dials tries again.
///
/// Over a network many such ends lose the same remote end at once. If their first attempts were immediate, all would dial in the same
/// moment, and the replacement would have to handle all handshakes at once.
package struct Redial: Sendable {
  /// A link that lasted longer than this was a success.
  private static let successfulLife = TimeAmount.seconds(10)
  private static let usualJitter = TimeAmount.seconds(1)

  private let jitter: TimeAmount
  private var backoff = Backoff()
  private var isSpread = false

  /// - Parameter jitter: the time over which the first attempts of all clients that lost a link together are spread; `nil`: the default for
  ///   the kind of link.
  package init(crossesNetwork: Bool, jitter: TimeAmount? = nil) {
    self.jitter = jitter ?? (crossesNetwork ? Self.usualJitter : .zero)
    guard crossesNetwork else { return }
    backoff.initial = .seconds(1)
    backoff.maximum = .seconds(10)
  }

  /// The link has ended.
  package mutating func lost(after life: TimeAmount) {
    if life > Self.successfulLife { backoff.reset() } else { backoff.fail() }
    isSpread = true
  }

  /// The link could not be opened. Later attempts are spread already.
  package mutating func failed() {
    backoff.fail()
    isSpread = false
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
