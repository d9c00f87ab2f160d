public import Byway
public import NIOCore
import NIOPosix

/// A transport for links over TCP on this machine: `tcp://127.0.0.1:7000`.
///
/// Plain TCP cannot identify the other end, so it does not leave this machine; `tls:` does. Only a listener can override that,
/// with `insecure=yes`.
public struct TCPTransport: Transport {
  public let scheme = "tcp"
  public let forms = [AddressForm("tcp://HOST:PORT", "TCP, on this machine only")]
  public let crossesNetwork = true
  public let options: [LinkOption] = [
    LinkOption("insecure", "yes: listen on an address that other machines reach, without any protection")
  ]

  /// Creates a transport. All options are in the addresses.
  public init() {}

  public func check(_ address: LinkAddress) throws {
    _ = try LoopbackEndpoint(address, mayBeOpen: true)
  }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    let endpoint = try await context.step(
      "address", or: .badSettings, saw: { _, _ in .sound("\(address.place) is on this machine.") }
    ) {
      let endpoint = try LoopbackEndpoint(address)
      guard endpoint.port != 0 else { throw TCPFailure.noPort(address) }
      return endpoint
    }
    return try await context.step(
      "connects", saw: { _, time in .sound("\(address.place) accepts, in \(time.inMilliseconds) ms.") }
    ) {
      try await connect(to: endpoint, of: address, context: context)
    }
  }

  private func connect(
    to endpoint: LoopbackEndpoint, of address: LinkAddress, context: LinkContext
  ) async throws -> any Channel {
    var failure: any Error = ChannelError.connectTimeout(.zero)
    for candidate in endpoint.addresses {
      do {
        return try await ClientBootstrap(group: context.group)
          .channelOption(.tcpOption(.tcp_nodelay), value: 1)
          .connectTimeout(context.deadline - .now())
          .channelInitializer { $0.prepareForHandover() }
          .connect(to: candidate).get()
      } catch {
        failure = error
      }
    }
    throw TCPFailure.connecting(to: address, failure, expecting: context.peer)
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let endpoint = try LoopbackEndpoint(address, mayBeOpen: true)
    let queue = ChannelQueue()
    return try await TCPListener.listen(on: address, at: endpoint.addresses[0], queue: queue, context: context) {
      $0.prepareForHandover(to: queue)
    }
  }
}
