package import Byway
package import Logging
import NIOCore
import Primitives

/// Asks over a link who is there.
package struct ClaimReader: Sendable {
  private static let limit = TimeAmount.seconds(5)

  private let transports: TransportRegistry
  private let logger: Logger

  package init(_ transports: TransportRegistry, logger: Logger) {
    self.transports = transports
    self.logger = logger
  }

  /// Returns when the link is closed again. `nil` where nobody says who he is within five seconds.
  package func claim(over link: String) async -> DeviceClaim? {
    do {
      var configuration = BywayClient.Configuration.defaults
      configuration.timeout = Self.limit
      configuration.patience = Self.limit
      let client = BywayClient(try transports.link(link), configuration: configuration)
      let answer = await Self.answer(of: client)
      await client.shutDown()
      return try answer.get()
    } catch {
      logger.debug("Nobody says who is there", metadata: ["link": "\(link)", "reason": "\(error)"])
      return nil
    }
  }

  private static func answer(of client: BywayClient) async -> Result<DeviceClaim?, any Error> {
    let late = BywayError(.timedOut, "No whole answer came within 5 s.")
    do {
      return .success(
        try await withTimeLimit(.seconds(5), throwing: late) {
          let response = try await client.get("http://localhost\(DeviceClaim.path)")
          guard response.status == .ok else { return nil }
          let body = try await response.body.collect(upTo: DeviceClaim.maximumBytes)
          return DeviceClaim(reading: body.readableBytesView)
        })
    } catch {
      return .failure(error)
    }
  }
}
