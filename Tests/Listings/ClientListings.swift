import Byway
import BywayInterceptors
import BywayTLS
import BywayURLSession
import BywayWebSocket
import Foundation
import FoundationNetworking
import Logging
import SerialTransport
import UnixTransport

// Listings of the documentation about clients that no example contains. They are compiled, and never run.

/// docs/features.md
func fiveLines() async throws {
  let client = try BywayClient(link: "unix:/run/byway.sock", transports: [UnixTransport()])
  let response = try await client.get("http://device/status")
  print(response.status, String(buffer: try await response.body.collect(upTo: 1 << 20)))
  await client.shutDown()
}

/// docs/interceptors.md
func chain(logger: Logger, password: String) throws -> BywayClient.Configuration {
  var configuration = BywayClient.Configuration.defaults
  configuration.interceptors = [
    Trace(to: try HARFile("trace.har"), LogRecorder(logger)),
    Canonicalize(),
    Redirect(),
    try Cache(folder: "/var/cache/app"),
    Authenticate(hosts: ["device"], user: "admin", password: password),
    Retry(),
  ]
  return configuration
}

/// docs/https.md
func trust(_ configuration: inout BywayClient.Configuration) throws {
  var policy = TLSPolicy()
  try policy.trust.add(certificatesIn: "device.pem", for: "device.example")
  policy.identities = [try ClientIdentity(certificate: "me.pem", key: "me.key", hosts: ["*.example.com"])]
  policy.peerNames = [try PeerName(host: "site.example", dial: "203.0.113.7")]
  configuration.interceptors = [Redirect(), EndToEndTLS(policy)]
}

/// docs/urlsession.md
func bridge(url: URL) async throws -> (Data, URLResponse) {
  let client = try BywayClient(link: "serial:/dev/ttyUSB0?baud=921600", transports: [SerialTransport()])
  let bridge = try Bridge([Route(Scope(hosts: ["device.local"]), over: client)])

  let session = URLSession(configuration: .byway(bridge))
  let (data, response) = try await session.data(from: url)  // http://device.local/status
  return (data, response)
}

/// docs/urlsession.md
func webSocket(client: BywayClient) async throws {
  try await client.withWebSocket("ws://device/events") { socket in
    try await socket.send("subscribe")
    for try await message in socket.messages { print(message) }
  }
}
