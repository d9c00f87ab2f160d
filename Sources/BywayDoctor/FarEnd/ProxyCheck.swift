import Byway
import BywayLineLayer
import BywayPrimitives
import NIOCore

/// Checks that the running proxy which uses a line exclusively answers questions about it.
struct ProxyCheck: LinkCheck {
  static let title = "proxy"

  let holder: RunningProcess
  let place: String
  let transports: TransportRegistry
  /// Returns the command that stops a daemon; `nil` if the process is none.
  let stopCommand: @Sendable (Int32) -> String?

  var limit: Duration { .seconds(8) }

  /// - Returns: a client of that proxy.
  func examine(_ resources: OpenedResources) async throws -> Finding<BywayClient> {
    var failure: (address: String, error: BywayError)?
    for address in transports.listeners(of: holder.id) {
      guard let proxy = try? LinkProxy(address, in: transports) else { continue }
      resources.add { await proxy.shutDown() }
      do {
        let answer = try await proxy.ask()
        let facts = answer.lineFacts.map { $0.dropFirst(LineStatistics.reportMark.count) }.joined(separator: "; ")
        return .sound(
          "The proxy at \(address) (\(holder)) uses the line and was asked instead: a PING takes "
            + "\(answer.roundTrip.inMilliseconds) ms. \(facts.isEmpty ? "" : "\(facts).")", proxy.client)
      } catch let error as BywayError {
        // Another kind of server, or a proxy whose link is down.
        if error.code != .unsupported { failure = (address, error) }
      }
    }
    if let (address, error) = failure {
      // The proxy's own sentence about its link says it all.
      let sentence =
        error.code == .timedOut ? "The far end of \(place) does not answer that proxy in time." : error.message
      return .wrong(
        Diagnosis(.noGateway, sentence),
        saw: "The proxy at \(address) (\(holder)) uses the line and was asked instead.")
    }
    return .wrong(
      Diagnosis(
        .inUse,
        "\(place) is in use by \(holder), which is not a proxy that this user can ask: stop it to examine the line.",
        command: stopCommand(holder.id) ?? "kill \(holder.id)"))
  }
}
