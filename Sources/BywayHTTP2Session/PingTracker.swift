import NIOCore

/// The PINGs that were sent and have not been answered yet.
struct PingTracker {
  enum Purpose {
    /// Measures the round-trip time for the owner.
    case owner
    /// Checks whether the peer is alive.
    case liveness
    /// Measures how many bytes arrive in one round trip.
    case window
  }

  private struct Ping {
    let number: UInt64
    let purpose: Purpose
    var sentAt: NIODeadline
  }

  private var pings: [Ping] = []
  private var lastNumber: UInt64 = 0

  /// The maximum of outstanding PINGs. More would only delay each other.
  private static let limit = 16

  /// The payload of a new PING; `nil` if too many are outstanding.
  mutating func start(_ purpose: Purpose, at now: NIODeadline) -> UInt64? {
    guard pings.count < Self.limit else { return nil }
    lastNumber += 1
    pings.append(Ping(number: lastNumber, purpose: purpose, sentAt: now))
    return lastNumber
  }

  /// Restarts the measurement when the PING is sent: waiting in our own output is not part of the round trip.
  mutating func sent(_ number: UInt64, at now: NIODeadline) {
    guard let index = pings.firstIndex(where: { $0.number == number }) else { return }
    pings[index].sentAt = now
  }

  /// Returns `nil` if the number matches no PING.
  mutating func answered(_ number: UInt64, at now: NIODeadline) -> (purpose: Purpose, roundTrip: TimeAmount)? {
    guard let index = pings.firstIndex(where: { $0.number == number }) else { return nil }
    let ping = pings.remove(at: index)
    return (ping.purpose, now - ping.sentAt)
  }
}
