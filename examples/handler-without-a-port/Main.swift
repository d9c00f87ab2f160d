// swift run handler-without-a-port [LINK]
//
// A device's whole HTTP service is one Swift function, reachable over a Unix socket by curl, byway or a browser through
// `byway proxy`. With a LINK it serves until it is interrupted:
//
//     swift run handler-without-a-port unix:/tmp/device.sock &
//     curl --http2-prior-knowledge --unix-socket /tmp/device.sock http://device/temperature

import Byway
import BywayGateway
import HTTPTypes
import UnixTransport

@main enum HandlerWithoutAPort {
  @Sendable static func device(_ request: Request) async throws -> Response {
    switch (request.head.method, request.head.path) {
    case (.get, "/temperature"):
      return Response(status: .ok, fields: [.contentType: "application/json"], body: Body("{\"celsius\":21.5}\n"))
    case (.post, "/echo"):
      // The body is streamed: each chunk is returned as it arrives.
      return Response(status: .ok, body: request.body)
    default:
      return Response(status: .notFound, body: Body("There is /temperature to GET, and /echo to POST to.\n"))
    }
  }

  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    let address = arguments.first ?? "unix:/tmp/device-\(UInt32.random(in: 0 ... .max)).sock"
    let link = try TransportRegistry([UnixTransport()]).link(address)
    let gateway = try await Gateway.start(GatewayConfiguration(links: [link], origin: .handler(device)))
    if !arguments.isEmpty {
      try await gateway.waitUntilEnded()
      return
    }
    let client = BywayClient(link)
    print(String(buffer: try await client.get("http://device/temperature").body.collect(upTo: 1000)), terminator: "")
    let echo = try await client.execute(Request(.post, url: "http://device/echo", body: Body("and back\n")))
    print(String(buffer: try await echo.body.collect(upTo: 1000)), terminator: "")
    await client.shutDown()
    await gateway.stop(within: .seconds(1))
  }
}
