// swift run offline-first
//
// Responses that were fetched once remain available while the device is unreachable. The cache is on disk, so a new process
// can use it too.

import Byway
import BywayGateway
import BywayInterceptors
import Glibc
import HTTPTypes
import LoopbackTransport

@main enum OfflineFirst {
  static func main() async throws {
    let folder = "/tmp/offline-first-\(getuid())"
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:offline-first")
    let gateway = try await Gateway.start(
      GatewayConfiguration(
        links: [link],
        origin: .handler { request in
          // Stale at once: the client asks the device each time, while it is reachable.
          Response(
            status: .ok, fields: [.cacheControl: "max-age=0", .eTag: "\"1\""],
            body: Body("21.5 °C from \(request.head.path ?? "")"))
        }))

    let cache = try Cache(folder: folder)
    var configuration = BywayClient.Configuration.defaults
    configuration.interceptors = [cache]
    configuration.patience = .zero
    let client = BywayClient(link, configuration: configuration)

    try await show(client, "http://device/temperature", "with the device")
    await gateway.stop(within: .zero)
    try await show(client, "http://device/temperature", "without it")
    do {
      try await show(client, "http://device/never-seen", "without it")
    } catch {
      print("never seen, and no device: \(BywayError(error).message)")
    }
    await cache.removeAll()
    await client.shutDown()
  }

  private static func show(_ client: BywayClient, _ url: String, _ when: String) async throws {
    let response = try await client.get(url)
    let text = String(buffer: try await response.body.collect(upTo: 1000))
    let status = response.fields.first { $0.name.canonicalName == "cache-status" }?.value ?? ""
    print("\(when): \(text)  [\(status)]")
  }
}
