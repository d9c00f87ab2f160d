import Byway
import BywayGateway

/// Runs a body with a gateway and a client of its first link.
func withGateway(
  _ configuration: GatewayConfiguration, _ body: (Gateway, BywayClient) async throws -> Void
) async throws {
  let gateway = try await Gateway.start(configuration)
  let client = BywayClient(configuration.links[0])
  do {
    try await body(gateway, client)
  } catch {
    await client.shutDown()
    await gateway.stop(within: .zero)
    throw error
  }
  await client.shutDown()
  await gateway.stop(within: .zero)
}
