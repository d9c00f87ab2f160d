import Byway
import BywayHTTPWire
import BywayPrimitives
import NIOCore

/// An HTTP proxy for a gateway's outgoing connections: requests to http origins use absolute form, all others CONNECT.
public struct UpstreamProxy: Sendable, CustomStringConvertible {
  private let host: String
  private let port: Int
  /// The value of Proxy-Authorization (RFC 7617).
  private let authorization: String?

  /// Reads `http://[USER:PASSWORD@]HOST:PORT`, user and password percent-encoded.
  /// - Throws: `BywayError` with code `invalidAddress`, which does not repeat the password.
  public init(_ text: String) throws {
    let malformed = BywayError(
      .invalidAddress,
      "That is not the address of an HTTP proxy: write http://HOST:PORT or http://USER:PASSWORD@HOST:PORT."
    )
    guard let address = try? LinkAddress(text), address.scheme == "http", address.options.isEmpty,
      address.path.isEmpty || address.path == "/", let place = try? address.hostPort(), let port = place.port
    else { throw malformed }
    host = place.host
    self.port = port
    guard let user = place.user else {
      authorization = nil
      return
    }
    guard let login = PercentEncoding.decode(user), login.contains(":") else { throw malformed }
    authorization = "Basic \(Base64.encode(login.utf8))"
  }

  /// The URL without user and password.
  public var description: String { "http://\(LinkAddress.HostPort(host: host, port: port))" }

  /// Makes a handler for requests to one http origin.
  func handler(
    for origin: Origin.Place, on eventLoop: any EventLoop, hop: String?, configuration: HTTP1Upstream.Configuration
  ) -> ProxiedOrigin {
    let upstream = upstream(on: eventLoop, hop: hop, configuration: configuration)
    return ProxiedOrigin(upstream, origin: origin, authorization: authorization, proxy: self)
  }

  /// Opens a connection to a host and port.
  func dial(
    to place: Origin.Place, on eventLoop: any EventLoop, by deadline: NIODeadline
  ) -> EventLoopFuture<any Channel> {
    var fields = FieldSection()
    if let authorization { fields.append(.proxyAuthorization, authorization) }
    // A certificate for an IP address is verified against the channel's remote address. For a name, any address is accepted.
    let address = try? SocketAddress(ipAddress: place.host, port: place.port)
    // A tunnel uses its connection until it ends, so there is no connection to reuse.
    return TunnelDialer(
      to: place.authority, through: upstream(on: eventLoop, hop: nil, configuration: .defaults), on: eventLoop,
      fields: fields, loginRefused: loginRefused,
      remoteAddress: address ?? (try? SocketAddress(unixDomainSocketPath: "tunnel"))
    ).dial(by: deadline)
  }

  var loginRefused: BywayError {
    let isMissing = authorization == nil
    return BywayError(
      .forbidden, advice: isMissing ? .giveProxyLogin : .correctUpstreamProxy, processing: .none
    ) { advice in
      "The proxy \(self) \(isMissing ? "wants a login" : "refuses the login"): \(advice)."
    }
  }

  private func upstream(
    on eventLoop: any EventLoop, hop: String?, configuration: HTTP1Upstream.Configuration
  ) -> HTTP1Upstream {
    var configuration = configuration
    configuration.serverKind = .proxy
    let address = Origin.Address.tcp(host: host, port: port)
    let server = NamedServer(name: "the proxy \(self)", source: .upstreamProxy)
    let dialer = Dialer(name: server.name) { eventLoop, deadline in
      address.connect(on: eventLoop, by: deadline).flatMapErrorThrowing { throw OriginFailure.explain($0, server) }
    }
    return HTTP1Upstream(dialer: dialer, on: eventLoop, hop: hop, configuration: configuration)
  }
}
