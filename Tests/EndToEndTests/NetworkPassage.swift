import Foundation
import TestPeers
import TestTools

/// A kind of link that needs certificates or a broker, unlike those of ``LinkKind``.
enum NetworkLink: String, CaseIterable, Sendable {
  case tls, ws, wss, mqtt, mqtts

  fileprivate var isSecure: Bool { self == .tls || self == .wss || self == .mqtts }
  /// Whether both ends dial a broker.
  var hasBroker: Bool { self == .mqtt || self == .mqtts }
}

/// A running origin, gateway, link and proxy. A killed gateway can be replaced.
struct NetworkPassage: Sendable {
  let folder: TemporaryFolder
  let origin: OriginServer
  let gateway: BywayProcess
  let proxy: BywayProcess
  /// The port of the gateway, or of the broker.
  let port: Int
  let kind: NetworkLink
  private let certificates: Certificates?
  private let broker: MosquittoServer?

  init(over kind: NetworkLink) async throws {
    self.kind = kind
    folder = try TemporaryFolder()
    origin = try await OriginServer(on: .unix(folder["o"]))
    certificates = kind.isSecure ? try await Certificates() : nil
    if kind.hasBroker {
      let broker = try await MosquittoServer(in: folder, certificates: certificates)
      self.broker = broker
      port = broker.securePort ?? broker.port
    } else {
      broker = nil
      port = try Endpoint.freePort()
    }
    gateway = try await Self.gateway(kind, port, certificates, origin)
    proxy = try await Self.proxy(kind, port, certificates)
  }

  /// Starts a gateway at the address of the first one.
  func nextGateway() async throws -> BywayProcess {
    try await Self.gateway(kind, port, certificates, origin)
  }

  /// Starts a proxy that reaches the gateway through a relay on another port.
  func proxy(through relay: Int) async throws -> BywayProcess {
    try await Self.proxy(kind, relay, certificates)
  }

  func stop() async {
    await proxy.process.stop()
    await gateway.process.stop()
    await broker?.stop()
    await origin.stop()
  }

  private static func gateway(
    _ kind: NetworkLink, _ port: Int, _ certificates: Certificates?, _ origin: OriginServer
  ) async throws -> BywayProcess {
    // A gateway dials the broker, with a certificate for clients.
    let identity = kind.hasBroker ? certificates?.client : certificates?.server
    let link = address(kind, port, certificates, identity)
    return try await .gateway(["--link", link, "--origin", "\(origin.endpoint)"])
  }

  private static func proxy(
    _ kind: NetworkLink, _ port: Int, _ certificates: Certificates?
  ) async throws -> BywayProcess {
    let link = address(kind, port, certificates, certificates?.client)
    return try await .proxy(["--link", link, "--listen", "127.0.0.1:0"])
  }

  private static func address(
    _ kind: NetworkLink, _ port: Int, _ certificates: Certificates?, _ identity: Certificates.Identity?
  ) -> String {
    let path =
      switch kind {
      case .tls: ""
      case .ws, .wss: "/byway"
      case .mqtt, .mqtts: "/byway/sensor1"
      }
    let address = "\(kind)://127.0.0.1:\(port)\(path)"
    guard let certificates, let identity else { return address }
    return "\(address)?ca=\(certificates.authority)&\(identity.options)"
  }
}
