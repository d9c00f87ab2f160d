import Byway
import BywayTLS
import NIOCore

/// How this gateway opens connections to its origin and to what it allows besides: directly or through a proxy, with TLS or
/// without. Safe on any thread.
final class OriginAccess: Sendable {
  private typealias Open = @Sendable (any EventLoop, NIODeadline) -> EventLoopFuture<any Channel>

  private let contexts: TLSContexts
  private let proxy: UpstreamProxy?

  /// - Throws: `BywayError` where the authorities of the origin cannot be read.
  init(_ configuration: GatewayConfiguration) throws {
    var policy = configuration.tls
    if case .http1(.tls(let host, _, let anchors?)) = configuration.origin.kind {
      try policy.trust.add(certificatesIn: anchors, for: host)
    }
    contexts = TLSContexts(policy)
    proxy = configuration.upstreamProxy
  }

  /// - Throws: `BywayError` where its TLS cannot be set up.
  func dialer(to address: Origin.Address, as server: NamedServer) throws -> Dialer {
    let name = server.name
    switch address {
    case .unix:
      return Dialer(name: name) { eventLoop, deadline in
        address.connect(on: eventLoop, by: deadline).flatMapErrorThrowing {
          throw OriginFailure.explain($0, server)
        }
      }
    case .tcp(let host, let port):
      return Dialer(name: name, opener(to: Origin.Place(host: host, port: port), server))
    case .tls(let host, let port, _):
      let tls = try OriginTLS(name: name, host: host, protocols: ["http/1.1"], contexts: contexts)
      let dial = contexts.policy.peerName(for: host)?.dial
      let open = opener(
        to: Origin.Place(host: dial?.host.text ?? host, port: dial?.port.map(Int.init) ?? port), server)
      return Dialer(name: name) { eventLoop, deadline in
        tls.connect(on: eventLoop, by: deadline) { open(eventLoop, deadline) }
          .map { channel, _ in channel }
          .flatMapErrorThrowing { throw OriginFailure.explain($0, server) }
      }
    }
  }

  /// Sends requests to an origin of HTTP/1.1.
  func upstream(
    to address: Origin.Address, as server: NamedServer, on eventLoop: any EventLoop, hop: String,
    configuration: HTTP1Upstream.Configuration
  ) throws -> any Upstream {
    if let proxy, case .tcp(let host, let port) = address {
      return proxy.handler(
        for: Origin.Place(host: host, port: port), on: eventLoop, hop: hop, configuration: configuration)
    }
    return HTTP1Upstream(
      dialer: try dialer(to: address, as: server), on: eventLoop, hop: hop, configuration: configuration)
  }

  private func opener(to place: Origin.Place, _ server: NamedServer) -> Open {
    if let proxy { return { proxy.dial(to: place, on: $0, by: $1) } }
    let address = Origin.Address.tcp(host: place.host, port: place.port)
    return { eventLoop, deadline in
      address.connect(on: eventLoop, by: deadline).flatMapErrorThrowing { throw OriginFailure.explain($0, server) }
    }
  }
}
