import Byway
import BywayHTTPWire
import Logging
import NIOCore

/// Opens TLS connections to one origin through a link.
///
/// `@unchecked Sendable`: its variables are used on `eventLoop` only.
final class OriginTLSConnector: @unchecked Sendable {
  /// The time limit for the tunnel and the handshake: on a slow line the certificates alone take seconds.
  static let timeout = TimeAmount.seconds(30)

  /// The name in messages.
  let name: String
  private let eventLoop: any EventLoop
  private let tls: OriginTLS
  private let dialer: TunnelDialer
  /// A channel that was opened to learn the origin's protocol, and is not used yet.
  private var first: (any Channel)?
  /// Whether the origin now speaks another protocol than its upstream.
  private(set) var hasChanged = false

  init(host: Host, port: UInt16, protocols: [String], contexts: TLSContexts, over link: ExchangeClient) throws {
    let place = contexts.policy.peerName(for: host.text)?.dial
    name = "https://\(Authority(host, port: port).text(for: "https"))"
    tls = try OriginTLS(name: name, host: host.text, protocols: protocols, contexts: contexts)
    eventLoop = link.eventLoop
    // An address is verified against the channel's remote address; for a name any address will do.
    let verified = try? SocketAddress(ipAddress: tls.verifiedName, port: Int(port))
    dialer = TunnelDialer(
      to: "\(Authority(place?.host ?? host, port: place?.port ?? port))", through: link.handler, on: eventLoop,
      remoteAddress: try verified ?? SocketAddress(unixDomainSocketPath: "tunnel"))
  }

  /// - Returns: a channel that does not read yet, and the protocol that the origin chose.
  func connect(by deadline: NIODeadline) -> EventLoopFuture<(any Channel, String?)> {
    tls.connect(on: eventLoop, by: deadline) { [dialer] in dialer.dial(by: deadline) }
  }

  /// Creates the upstream for a protocol, with the first connection.
  func upstream(speaking chosen: String?, first: any Channel) -> any Upstream {
    self.first = first
    hasChanged = false
    let dialer = Dialer(name: name) { [self] eventLoop, deadline in
      eventLoop.flatSubmit { self.next(speaking: chosen, by: deadline) }
    }
    guard chosen == "h2" else {
      var configuration = HTTP1Upstream.Configuration.defaults
      configuration.connectTimeout = Self.timeout
      return HTTP1Upstream(dialer: dialer, on: eventLoop, hop: nil, configuration: configuration)
    }
    var configuration = HTTP2Upstream.Configuration.defaults
    configuration.patience = .zero
    configuration.connectTimeout = Self.timeout
    configuration.unavailable = nil
    configuration.http2 = .init(liveness: .ofOrigin)
    let silent = Logger(label: "byway.tunnel") { _ in SwiftLogNoOpLogHandler() }
    return HTTP2Upstream(dialer: dialer, on: eventLoop, hop: nil, configuration: configuration, logger: silent)
  }

  private func next(speaking chosen: String?, by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
    if let first = first.take(), first.isActive { return eventLoop.makeSucceededFuture(first) }
    return connect(by: deadline).flatMapThrowing { channel, now in
      if now == chosen { return channel }
      channel.close(promise: nil)
      self.hasChanged = true
      throw BywayError(
        .originUnavailable, "\(self.name) now speaks a different version of HTTP: try again.", processing: .none)
    }
  }
}
