import Byway
import BywayGateway
import BywayService
import Logging
import ServiceLifecycle
import UnixTransport

// Listings of docs/add-to-your-package.md. Compiled, and never run.

func scoped() async throws {
  let status = try await withBywayClient(link: "unix:/run/byway.sock", transports: [UnixTransport()]) { client in
    try await client.get("http://device/status").status
  }
  print(status)
}

func service(_ configuration: GatewayConfiguration, logger: Logger) async throws {
  let gateway = try await Gateway.start(configuration)
  let group = ServiceGroup(services: [gateway], gracefulShutdownSignals: [.sigterm], logger: logger)
  try await group.run()
}
