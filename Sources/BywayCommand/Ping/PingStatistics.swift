import Byway
import BywayTerminal
import NIOCore

/// The statistics of a series of pings.
struct PingStatistics: Sendable, Equatable {
  private(set) var sent = 0
  private(set) var received = 0
  /// The latest facts about the line, if the link is one.
  var lineFacts: [String] = []
  private var least: TimeAmount?
  private var greatest: TimeAmount?
  private var sum = TimeAmount.zero

  init() {}

  mutating func add(_ roundTrip: TimeAmount) {
    sent += 1
    received += 1
    least = min(least ?? roundTrip, roundTrip)
    greatest = max(greatest ?? roundTrip, roundTrip)
    sum = sum + roundTrip
  }

  mutating func addLoss() {
    sent += 1
  }

  func summary(of name: String) -> [String] {
    let lost = sent == 0 ? 0 : (sent - received) * 100 / sent
    var lines = ["--- \(name) ---", "\(sent) sent, \(received) received, \(lost)% lost"]
    if let least, let greatest {
      let average = TimeAmount.nanoseconds(sum.nanoseconds / Int64(received))
      let times = [least, average, greatest].map(Self.milliseconds).joined(separator: "/")
      lines.append("round trip min/avg/max = \(times) ms")
    }
    return lines + lineFacts
  }

  static func milliseconds(_ time: TimeAmount) -> String {
    Decimal.text(Double(time.nanoseconds) / 1e6, digits: 3)
  }
}
