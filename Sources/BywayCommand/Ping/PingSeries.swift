import Byway
import BywayPrimitives
import BywayTerminal
import NIOCore

/// A series of round trips, one after another, each of which is reported when it ends.
struct PingSeries: Sendable {
  /// A ping without an answer after this time counts as lost.
  private static let patience = Duration.seconds(10)

  let pinger: LinkPinger
  let name: String
  let count: Int?
  let interval: TimeAmount

  /// Ends after the given count, or when it is cancelled.
  /// - Throws: The error of the first ping. A link that never opened has nothing to measure.
  func run() async throws -> PingStatistics {
    var statistics = PingStatistics()
    while !Task.isCancelled {
      let number = statistics.sent + 1
      do {
        let roundTrip = try await ping()
        if number == 1, let proxy = await pinger.proxy {
          StandardStream.error.writeLine(
            "byway: \(name) is in use by the proxy at \(proxy): the pings go through that.")
        }
        statistics.add(roundTrip)
        let milliseconds = PingStatistics.milliseconds(roundTrip)
        try StandardStream.output.write("reply from \(name): seq=\(number) time=\(milliseconds) ms\n")
      } catch let error as BywayError {
        if number == 1 { throw error }
        statistics.addLoss()
        try StandardStream.output.write("no reply from \(name): seq=\(number) \(error.message.visible)\n")
      } catch is CancellationError {
        break
      }
      statistics.lineFacts = await pinger.lineFacts
      if statistics.sent == count { break }
      try? await Task.sleep(for: .nanoseconds(interval.nanoseconds))
    }
    return statistics
  }

  private func ping() async throws -> TimeAmount {
    let timedOut = BywayError(
      .timedOut, "\(name) did not answer a ping within \(Self.patience.components.seconds) seconds.")
    return try await withTimeLimit(Self.patience, throwing: timedOut) { try await pinger.ping() }
  }
}
