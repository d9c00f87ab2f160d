// swift run five-lines [LINK [URL]]
//
// Without arguments, it starts a gateway of its own. The example is the five lines of `show`.

import Byway
import BywayGateway
import UnixTransport

@main enum FiveLines {
  static func show(_ link: String, _ url: String) async throws {
    let client = try BywayClient(link: link, transports: [UnixTransport()])
    let response = try await client.get(url)
    print(response.status, String(buffer: try await response.body.collect(upTo: 1 << 20)))
    await client.shutDown()
  }

  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    if let link = arguments.first {
      try await show(link, arguments.dropFirst().first ?? "http://device/")
      return
    }
    let link = try TransportRegistry([UnixTransport()]).link(
      "unix:/tmp/five-lines-\(UInt32.random(in: 0 ... .max)).sock")
    let gateway = try await Gateway.start(
      GatewayConfiguration(
        links: [link], origin: .handler { Response(status: .ok, body: Body("hello from \($0.head.path ?? "")")) }))
    try await show(link.address.text, "http://device/status")
    await gateway.stop(within: .seconds(1))
  }
}
