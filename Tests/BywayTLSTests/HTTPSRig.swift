import Byway
import BywayGateway
import BywayTLS
import HTTPTypes
import Logging
import LoopbackTransport
import NIOCore
import TestPeers
import TestTools

/// A client, a link, and a gateway that may reach these places besides its origin, all in this process.
struct HTTPSRig {
  let client: BywayClient
  private let ending: Ending

  init(_ policy: TLSPolicy = .defaults, allowing places: [String], proxy: UpstreamProxy? = nil) async throws {
    let transports = TransportRegistry([LoopbackTransport()])
    let link = try transports.link("loopback:tunnel-\(UInt64.random(in: 0 ... .max))")
    var far = GatewayConfiguration(links: [link], origin: .handler { _ in Response(status: .ok, body: Body("origin")) })
    far.allowed = try places.map(AllowRule.init)
    far.upstreamProxy = proxy
    far.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let gateway = try await Gateway.start(far)
    var near = BywayClient.Configuration.defaults
    near.interceptors = [EndToEndTLS(policy)]
    let client = BywayClient(link, configuration: near)
    self.client = client
    ending = Ending {
      await client.shutDown()
      await gateway.stop(within: .zero)
    }
  }

  func get(_ url: String) async throws -> String {
    try await client.get(url).text
  }

  /// Returns the error of a request; `nil` if it succeeds.
  func failure(_ url: String) async -> BywayError? {
    do {
      _ = try await client.get(url).text
      return nil
    } catch {
      return BywayError(error)
    }
  }

  func stop() async { await ending.run() }
}

extension Response {
  var text: String {
    get async throws { String(buffer: try await body.collect(upTo: 1 << 24)) }
  }
}

extension TLSPolicy {
  /// Returns a policy that trusts the certificates in a file for one host.
  static func trusting(_ file: String, for host: String = "127.0.0.1") throws -> TLSPolicy {
    var policy = TLSPolicy()
    try policy.trust.add(certificatesIn: file, for: host)
    return policy
  }
}
