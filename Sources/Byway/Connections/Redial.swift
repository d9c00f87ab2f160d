package import NIOCore

/// When an end that dials tries again.
///
/// Over a network many such ends lose their far end in the same moment. All of them would dial at once where the first try is
/// immediate, and whatever takes their place would have all handshakes to do in that moment.
package struct Redial: Sendable {
  /// A link that lived that long was a success.
  private static let successfulLife = TimeAmount.seconds(10)
  private static let usualJitter = TimeAmount.seconds(1)

  private let jitter: TimeAmount
  private var backoff = Backoff()
  private var isSpread = false

  /// - Parameter jitter: over how much time the first tries of all who have lost a link together are spread; `nil`: as is usual for such
  ///   a link.
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

  /// It could not be opened. Who is spread already stays so.
  package mutating func failed() {
    backoff.fail()
    isSpread = false
  }

  /// Until the next try.
  /// - Parameter fraction: a random number from 0 to 1.
  package func pause(fraction: Double) -> TimeAmount {
    let spread = TimeAmount.nanoseconds(Int64(Double(jitter.nanoseconds) * min(max(fraction, 0), 1)))
    return backoff.pause(fraction: fraction) + (isSpread ? spread : .zero)
  }
}

extension LinkAddress {
  private static let longestJitter = 600.0

  /// What it says of how far tries to dial it again are spread; `nil` where it does not.
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
