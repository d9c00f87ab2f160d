import NIOCore

/// The PINGs that were sent and not answered yet.
struct PingTracker {
  enum Purpose {
    /// The owner asked for the round-trip time.
    case owner
    /// Is the peer still there?
    case liveness
    /// How many bytes arrive in one round trip?
    case window
  }

  private struct Ping {
    let number: UInt64
    let purpose: Purpose
    var sentAt: NIODeadline
  }

  private var pings: [Ping] = []
  private var lastNumber: UInt64 = 0

  /// More would only measure themselves.
  private static let limit = 16

  /// The payload of a new PING; `nil` where too many are under way.
  mutating func start(_ purpose: Purpose, at now: NIODeadline) -> UInt64? {
    guard pings.count < Self.limit else { return nil }
    lastNumber += 1
    pings.append(Ping(number: lastNumber, purpose: purpose, sentAt: now))
    return lastNumber
  }

  /// The PING went out only now: waiting for our own output is not part of the round trip.
  mutating func sent(_ number: UInt64, at now: NIODeadline) {
    guard let index = pings.firstIndex(where: { $0.number == number }) else { return }
    pings[index].sentAt = now
  }

  /// `nil` for an answer to nothing.
  mutating func answered(_ number: UInt64, at now: NIODeadline) -> (purpose: Purpose, roundTrip: TimeAmount)? {
    guard let index = pings.firstIndex(where: { $0.number == number }) else { return nil }
    let ping = pings.remove(at: index)
    return (ping.purpose, now - ping.sentAt)
  }
}
