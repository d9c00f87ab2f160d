public import Byway
import BywayTLS
import Logging
public import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A transport for links over TCP protected by TLS. Both ends are identified by certificates:
/// `tls://host:port?ca=…&cert=…&key=…`.
///
/// A channel is handed over when its handshake is complete. Half-close works: a direction ends with a close_notify alert (RFC
/// 8446 §6.1). One that ends without it is an error, because it may have been truncated.
public struct TLSTransport: Transport {
  public let scheme = "tls"
  public let forms = [AddressForm("tls://HOST:PORT", "TCP with TLS")]
  public let crossesNetwork = true
  public let options = TLSOptions.all
  private let handshakeLimit: TimeAmount
  private let lapses = LapseLog()

  /// Creates a transport. The certificates and keys are in the addresses.
  /// - Parameter handshakeLimit: the time for the handshake of an accepted connection. A client that only connects must not
  ///   hold a descriptor for long. A dialer has its own deadline.
  public init(handshakeLimit: Duration = .seconds(10)) {
    self.handshakeLimit = TimeAmount(handshakeLimit)
  }

  public func check(_ address: LinkAddress) throws {
    _ = try Endpoint(address)
    _ = try TLSOptions(address)
  }

  public func check(_ address: LinkAddress, for opening: Link.Opening) throws {
    let options = try TLSOptions(address, unusable: .unreadableFile)
    switch opening {
    case .dial:
      guard try Endpoint(address).port != 0 else { throw TCPFailure.noPort(address) }
      _ = try options.clientContext()
    case .listen:
      _ = try Self.bindAddress(address, options)
      _ = try options.serverContext()
    }
  }

  /// The audience of a listener. If there is an authority, a client must have a certificate of it, unless the address allows
  /// any client.
  public func audience(of address: LinkAddress) -> Audience {
    address[option: "ca"] == nil || address[option: "clients"] == TLSOptions.anyClient ? .anyone : .known
  }

  public func certificate(of channel: any Channel) -> [UInt8]? { channel.certificateBytes }

  public func isEncrypted(_ address: LinkAddress) -> Bool { true }

  /// The DNS names among the alternative names of the peer's certificate. A common name does not count (RFC 9525 §2).
  public func certifiedNames(of channel: any Channel) -> [String]? { channel.certifiedNames }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    let files = try await context.step("files", or: .badSettings, saw: { files, _ in try files.outcome }) {
      try TLSFiles(address)
    }
    if context.tunnel == nil, let journal = context.journal { try await reach(files.endpoint, context, journal) }
    return try await context.step("TLS", saw: { _, _ in .sound("The certificate is one that this end trusts.") }) {
      try await connect(files, to: address, context: context)
    }
  }

  /// Makes the steps of the network one by one, for an examination.
  private func reach(_ endpoint: Endpoint, _ context: LinkContext, _ journal: LinkJournal) async throws {
    let addresses =
      if endpoint.isLoopbackName {
        endpoint.loopbackAddresses
      } else {
        try await context.make(NameCheck(host: endpoint.host, port: endpoint.port))
      }
    let place = "\(LinkAddress.HostPort(host: endpoint.host, port: endpoint.port))"
    journal.reached = try await context.make(ReachCheck(to: place, of: context.peer.name, at: addresses))
  }

  private func connect(
    _ files: TLSFiles, to address: LinkAddress, context: LinkContext
  ) async throws -> any Channel {
    let (endpoint, tls) = (files.endpoint, files.context)
    files.options.warnOfExpiry(context.logger, lapses)
    let name = files.options.name ?? endpoint.host
    let deadline = context.deadline
    let begin: @Sendable (any Channel) -> EventLoopFuture<(any Channel, EventLoopFuture<String?>)> = { channel in
      channel.eventLoop.makeCompletedFuture {
        // An IP address is verified against the certificate, but not sent as a server name (RFC 6066 §3).
        let handler = try NIOSSLClientHandler(context: tls, serverHostname: SocketAddress.isIP(name) ? nil : name)
        let words = TLSFailure(address, verifying: name, isDialing: true)
        return (channel, try TLSHandshake.add(to: channel, handler, words: words, until: deadline))
      }
      .flatMap { opened in channel.prepareForHandover().map { opened } }
    }
    do {
      if let tunnel = context.tunnel {
        let channel = try await tunnel()
        let (_, agreed) = try await channel.eventLoop.flatSubmit { begin(channel) }.get()
        _ = try await agreed.get()
        return channel
      }
      let (channel, agreed) = try await ClientBootstrap(group: context.group)
        .resolver(endpoint.isLoopbackName ? LoopbackResolver(eventLoop: context.group.any()) : nil)
        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        .connectTimeout(deadline - .now())
        .connect(host: endpoint.host, port: endpoint.port, channelInitializer: begin)
      // The handshake may have failed by now, so that the channel's handlers are gone.
      _ = try await agreed.get()
      return channel
    } catch let failure as TLSHandshake.Failure {
      throw failure.error
    } catch let error as BywayError {
      throw error
    } catch {
      throw TCPFailure.connecting(to: address, error, expecting: context.peer)
    }
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let options = try TLSOptions(address)
    let bind = try Self.bindAddress(address, options)
    let tls = Mutex(try options.serverContext())
    let queue = ChannelQueue()
    let log = RefusalLog(context.logger, report: context.refused)
    options.warnOfExpiry(context.logger)
    let reread: @Sendable () throws -> @Sendable () -> Void = {
      let renewed = try options.serverContext()
      options.warnOfExpiry(context.logger)
      return { tls.withLock { $0 = renewed } }
    }
    return try await TCPListener.listen(on: address, at: bind, queue: queue, context: context, reread: reread) {
      [handshakeLimit] channel in
      channel.eventLoop.makeCompletedFuture {
        let agreed = try TLSHandshake.add(
          to: channel, NIOSSLServerHandler(context: tls.withLock(\.self)),
          words: TLSFailure(address, verifying: nil, isDialing: false), until: .now() + handshakeLimit, log: log)
        context.connections.count(unknownPeer: channel, until: agreed.map { _ in })
      }
      .flatMap { channel.prepareForHandover(to: queue) }
    }
  }

  /// Returns the address for a listener. Other machines can reach it only if their clients are verified or explicitly allowed.
  private static func bindAddress(_ address: LinkAddress, _ options: TLSOptions) throws -> SocketAddress {
    let endpoint = try Endpoint(address)
    guard options.ca != nil || options.takesAnyClient || !endpoint.loopbackAddresses.isEmpty else {
      throw BywayError(
        .invalidAddress,
        "\(address) would serve anyone who reaches it: add ca=FILE, so that only clients with a certificate of that "
          + "authority come in, or listen on 127.0.0.1.")
    }
    guard
      let bind = endpoint.loopbackAddresses.first ?? (try? SocketAddress(ipAddress: endpoint.host, port: endpoint.port))
    else {
      throw BywayError(
        .invalidAddress, "\(address) names a host: listen on an address of this machine, such as 0.0.0.0 or [::].")
    }
    return bind
  }
}

extension SocketAddress {
  fileprivate static func isIP(_ host: String) -> Bool { (try? SocketAddress(ipAddress: host, port: 0)) != nil }
}
