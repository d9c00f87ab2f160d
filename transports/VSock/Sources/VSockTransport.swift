public import Byway
public import NIOCore
import NIOPosix

/// A transport for links between a virtual machine and its host, without a network: `vsock:CID:PORT` (vsock(7)).
public struct VSockTransport: Transport {
  public let scheme = "vsock"
  public let forms = [AddressForm("vsock:CID:PORT", "between a virtual machine and its host")]

  /// Creates a transport. All facts are in the addresses.
  public init() {}

  public func check(_ address: LinkAddress) throws {
    _ = try VSockPlace(address)
  }

  public func check(_ address: LinkAddress, for opening: Link.Opening) throws {
    if opening == .dial { _ = try VSockPlace(address).dialed() }
  }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    let place = try VSockPlace(address).dialed()
    return try await context.step(
      "connects", saw: { _, time in .sound("\(address.place) accepts, in \(time.inMilliseconds) ms.") }
    ) {
      do {
        return try await ClientBootstrap(group: context.group)
          .connectTimeout(context.deadline - .now())
          .channelInitializer { $0.prepareForHandover() }
          .connect(to: place).get()
      } catch {
        throw VSockFailure.connecting(to: address, error, expecting: context.peer)
      }
    }
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let place = try VSockPlace(address)
    let queue = ChannelQueue()
    let server: any Channel
    do {
      server = try await ServerBootstrap(group: context.group)
        .serverChannelInitializer { $0.acceptWithin(context, on: address) }
        .childChannelInitializer { $0.prepareForHandover(to: queue) }
        .bind(to: place.bound).get()
    } catch {
      throw VSockFailure.listening(on: address, error)
    }
    server.closeFuture.whenComplete { _ in queue.end() }
    return QueueListener(address: address, queue: queue, keepsArrived: true) {
      await server.stopAccepting(on: context.group)
    }
  }
}
