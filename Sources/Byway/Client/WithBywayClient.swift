/// Makes a client for a link address, and shuts it down when the body ends: with a result, an error or cancellation.
///
///     let status = try await withBywayClient(link: "unix:/run/byway.sock", transports: [UnixTransport()]) { client in
///       try await client.get("http://device/").status
///     }
/// - Parameters:
///   - link: the address of the link, which is opened by the first request.
///   - transports: the transports that can open it.
///   - configuration: the time limits and interceptors of the client.
///   - isolation: the actor on which the body runs.
///   - body: uses the client. The client takes no requests afterwards.
/// - Throws: ``BywayError`` if these transports cannot open the address, or the body's error.
public func withBywayClient<Result>(
  link: String, transports: [any Transport], configuration: BywayClient.Configuration = .defaults,
  isolation: isolated (any Actor)? = #isolation, _ body: (BywayClient) async throws -> Result
) async throws -> Result {
  try await withBywayClient(
    TransportRegistry(transports).link(link), configuration: configuration, isolation: isolation, body)
}

/// Makes a client for a link, and shuts it down when the body ends: with a result, an error or cancellation.
/// - Throws: the body's error.
public func withBywayClient<Result>(
  _ link: Link, configuration: BywayClient.Configuration = .defaults,
  isolation: isolated (any Actor)? = #isolation, _ body: (BywayClient) async throws -> Result
) async rethrows -> Result {
  try await BywayClient(link, configuration: configuration).use(isolation: isolation, body)
}

extension BywayClient {
  /// Passes itself to a closure, and shuts down when that ends.
  package func use<Result>(
    isolation: isolated (any Actor)?, _ body: (BywayClient) async throws -> Result
  ) async rethrows -> Result {
    do {
      let result = try await body(self)
      await shutDownUncancelled()
      return result
    } catch {
      await shutDownUncancelled()
      throw error
    }
  }

  /// Shuts down completely even if the current task is cancelled, because interceptors may write their last records.
  private func shutDownUncancelled() async { await Task { await shutDown() }.value }
}
