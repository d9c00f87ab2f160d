public import Byway
import BywayTLS
import Logging
public import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// Links over TCP protected by TLS, both ends known by certificate: `tls://host:port?ca=…&cert=…&key=…`.
///
/// A channel is handed over when its handshake is done. Half-close works: a direction ends by a close_notify alert
/// (RFC 8446 §6.1), and one that ends without it is an error, as it may have been cut.
public struct TLSTransport: Transport {
  public let scheme = "tls"
  public let crossesNetwork = true
  public let options = TLSOptions.all
  private let handshakeLimit: TimeAmount

  /// A transport; certificates and keys stand in the addresses.
  /// - Parameter handshakeLimit: what an accepted connection has for its handshake; whoever only connects must not
  ///   hold a descriptor for long. Whoever dials has a deadline of their own.
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

  /// A client must have a certificate wherever there is an authority to verify it against, unless the address says otherwise.
  public func audience(of address: LinkAddress) -> Audience {
    address[option: "ca"] == nil || address[option: "clients"] == TLSOptions.anyClient ? .anyone : .known
  }

  public func certificate(of channel: any Channel) -> [UInt8]? { channel.certificateBytes }

  public func isEncrypted(_ address: LinkAddress) -> Bool { true }

  /// DNS names of its certificate's alternative names; a common name is none (RFC 9525 §2).
  public func certifiedNames(of channel: any Channel) -> [String]? { channel.certifiedNames }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    let endpoint = try Endpoint(address)
    guard endpoint.port != 0 else { throw TCPFailure.noPort(address) }
    let options = try TLSOptions(address)
    let tls = try options.clientContext()
    let name = options.name ?? endpoint.host
    let deadline = context.deadline
    do {
      let (channel, agreed) = try await ClientBootstrap(group: context.group)
        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        .connectTimeout(deadline - .now())
        .connect(host: endpoint.host, port: endpoint.port) { channel in
          channel.eventLoop.makeCompletedFuture {
            // An address is verified against the certificate without being sent as a name (RFC 6066 §3).
            let handler = try NIOSSLClientHandler(context: tls, serverHostname: SocketAddress.isIP(name) ? nil : name)
            let words = TLSFailure(address, verifying: name, isDialing: true)
            return (channel, try TLSHandshake.add(to: channel, handler, words: words, until: deadline))
          }
          .flatMap { opened in channel.prepareForHandover().map { opened } }
        }
      // The handshake may have failed by now, and the channel with all its handlers be gone.
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
    let log = HandshakeLog(context.logger)
    let reread: @Sendable () throws -> @Sendable () -> Void = {
      let renewed = try options.serverContext()
      return { tls.withLock { $0 = renewed } }
    }
    return try await TCPListener.listen(on: address, at: bind, queue: queue, context: context, reread: reread) {
      [handshakeLimit] channel in
      channel.eventLoop.makeCompletedFuture {
        let agreed = try TLSHandshake.add(
          to: channel, NIOSSLServerHandler(context: tls.withLock(\.self)),
          words: TLSFailure(address, verifying: nil, isDialing: false), until: .now() + handshakeLimit, log: log)
        context.connections.count(stranger: channel, until: agreed.map { _ in })
      }
      .flatMap { channel.prepareForHandover(to: queue) }
    }
  }

  /// Where a listener is, which others reach only if it knows them.
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
