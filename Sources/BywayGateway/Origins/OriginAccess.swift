import Byway
import BywayTLS
import NIOCore

/// Opens connections to a gateway's origin and to other allowed servers: directly or through a proxy, with TLS or without. Safe on
/// any thread.
final class OriginAccess: Sendable {
  private typealias Open = @Sendable (any EventLoop, NIODeadline) -> EventLoopFuture<any Channel>

  /// The way to a server.
  enum Way: Sendable {
    case direct(Dialer)
    case proxied(UpstreamProxy, Origin.Place)

    /// Makes an upstream for HTTP/1.1.
    func upstream(
      on eventLoop: any EventLoop, hop: String, configuration: HTTP1Upstream.Configuration
    ) -> any Upstream {
      switch self {
      case .direct(let dialer):
        HTTP1Upstream(dialer: dialer, on: eventLoop, hop: hop, configuration: configuration)
      case .proxied(let proxy, let place):
        proxy.handler(for: place, on: eventLoop, hop: hop, configuration: configuration)
      }
    }
  }

  private let contexts: TLSContexts
  private let proxy: UpstreamProxy?

  /// - Throws: `BywayError` if the trusted authorities of the origin cannot be read.
  init(_ configuration: GatewayConfiguration) throws {
    var policy = configuration.tls
    if case .http1(.tls(let host, _, let anchors?)) = configuration.origin.kind {
      try policy.trust.add(certificatesIn: anchors, for: host)
    }
    contexts = TLSContexts(policy)
    proxy = configuration.upstreamProxy
  }

  /// Makes a dialer for a server.
  /// - Throws: `BywayError` if its TLS cannot be set up.
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

  /// Returns the way to a server: requests to http servers go through the proxy, if there is one.
  /// - Throws: `BywayError` if its TLS cannot be set up.
  func way(to address: Origin.Address, as server: NamedServer) throws -> Way {
    if let proxy, case .tcp(let host, let port) = address {
      return .proxied(proxy, Origin.Place(host: host, port: port))
    }
    return .direct(try dialer(to: address, as: server))
  }

  private func opener(to place: Origin.Place, _ server: NamedServer) -> Open {
    if let proxy { return { proxy.dial(to: place, on: $0, by: $1) } }
    let address = Origin.Address.tcp(host: place.host, port: place.port)
    return { eventLoop, deadline in
      address.connect(on: eventLoop, by: deadline).flatMapErrorThrowing { throw OriginFailure.explain($0, server) }
    }
  }
}
