package import Byway
package import BywayDevices
import BywayPrimitives
package import Logging
import NIOCore

/// Asks the device on a link for its name.
package struct ClaimReader: Sendable {
  private static let limit = Duration.seconds(5)

  private let transports: TransportRegistry
  private let logger: Logger

  package init(_ transports: TransportRegistry, logger: Logger) {
    self.transports = transports
    self.logger = logger
  }

  /// Returns when the link is closed again. `nil` if no device identifies itself within 5 s.
  /// - Parameter known: returns the client for that link if it is already open: opening a serial device again would take it away.
  package func claim(over link: String, known: (Link) async -> ExchangeClient? = { _ in nil }) async -> DeviceClaim? {
    do {
      let link = try transports.link(link)
      if let client = await known(link) { return try await Self.answer(to: { try await client.send($0) }).get() }
      var configuration = BywayClient.Configuration.defaults
      configuration.timeout = Self.limit
      configuration.patience = Self.limit
      let client = BywayClient(link, configuration: configuration)
      let answer = await Self.answer { try await client.execute($0) }
      await client.shutDown()
      return try answer.get()
    } catch {
      logger.debug("No device has identified itself", metadata: ["link": "\(link)", "reason": "\(error)"])
      return nil
    }
  }

  /// Returns `nil` if no device identifies itself within 5 s.
  static func claim(from client: ExchangeClient) async -> DeviceClaim? {
    try? await answer(to: { try await client.send($0) }).get()
  }

  private static func answer(
    to send: @escaping @Sendable (Request) async throws -> Response
  ) async -> Result<DeviceClaim?, any Error> {
    let late = BywayError(.timedOut, "No complete answer came within 5 s.")
    do {
      return .success(
        try await withTimeLimit(.seconds(5), throwing: late) {
          let response = try await send(Request(url: "http://localhost\(DeviceClaim.path)", timeout: limit))
          guard response.status == .ok else { return nil }
          let body = try await response.body.collect(upTo: DeviceClaim.maximumBytes)
          return DeviceClaim(reading: body.readableBytesView)
        })
    } catch {
      return .failure(error)
    }
  }
}
