public import Byway

extension BywayClient {
  /// Creates a client for devices, each with the URL `http://NAME.localhost`; a URL with another host means the default device.
  ///
  /// The first request for a device opens its links.
  public convenience init(_ devices: DeviceDirectory, configuration: Configuration = .defaults) {
    self.init(configuration) { eventLoop, terms in DeviceTable(devices, terms, on: eventLoop) }
  }
}

/// Makes a client for devices, and shuts it down when the body ends: with a result, an error or cancellation.
/// - Throws: the body's error.
public func withBywayClient<Result>(
  _ devices: DeviceDirectory, configuration: BywayClient.Configuration = .defaults,
  isolation: isolated (any Actor)? = #isolation, _ body: (BywayClient) async throws -> Result
) async rethrows -> Result {
  try await BywayClient(devices, configuration: configuration).use(isolation: isolation, body)
}
