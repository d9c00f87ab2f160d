public import Byway
import BywayLibC
public import NIOCore
import NIOPosix

/// A transport that listens on sockets passed to this process at its start, for example by systemd's socket activation:
/// `fd:NAME`, or `fd:3`.
///
/// The sockets outlive the process: clients that connect during a restart wait, and are not refused.
public struct DescriptorTransport: Transport {
  public let scheme = "fd"
  public let forms = [AddressForm("fd:NAME", "a listening socket from systemd")]
  public let options: [LinkOption] = [
    LinkOption("insecure", "yes: the socket may be one that other machines reach, without any protection")
  ]

  private let held: HeldSockets

  /// Creates a transport. The first one takes over the sockets passed to this process: create it before any child process is
  /// started.
  public init() {
    self.init(held: .ofThisProcess)
  }

  init(held: HeldSockets) {
    self.held = held
  }

  public func check(_ address: LinkAddress) throws {
    _ = try name(of: address)
    _ = try address.isInsecure()
  }

  public func audience(of address: LinkAddress) -> Audience {
    let sockets = (try? name(of: address)).map { held.sockets(named: $0) } ?? []
    let isForPrograms = !sockets.isEmpty && sockets.allSatisfy { if case .unix = $0.place { true } else { false } }
    return isForPrograms ? .programs : .anyone
  }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    throw DescriptorFailure.onlyListens(address)
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let sockets = try sockets(for: address)
    guard held.take(sockets) else { throw DescriptorFailure.inUse(address) }
    let queue = ChannelQueue()
    var servers: [any Channel] = []
    do {
      for socket in sockets { servers.append(try await serve(socket, of: address, into: queue, context)) }
    } catch {
      for server in servers { try? await server.close() }
      held.release(sockets)
      throw DescriptorFailure.listening(on: address, error)
    }
    let bound = sockets.lazy.compactMap { $0.place.address() }.first ?? address
    return QueueListener(address: bound, queue: queue, keepsArrived: true) { [held, servers] in
      for server in servers { await server.stopAccepting(on: context.group) }
      held.release(sockets)
    }
  }

  private func serve(
    _ socket: HeldSocket, of address: LinkAddress, into queue: ChannelQueue, _ context: LinkContext
  ) async throws -> any Channel {
    let isTCP = if case .internet = socket.place { true } else { false }
    let logger = context.logger
    let server = try await ServerBootstrap(group: context.group)
      .serverChannelInitializer { $0.acceptWithin(context, on: address) }
      .childChannelInitializer { channel in
        guard isTCP else {
          channel.logPeerCredentials(of: address, to: logger)
          return channel.prepareForHandover(to: queue)
        }
        return channel.setOption(.tcpOption(.tcp_nodelay), value: 1).flatMap { channel.prepareForHandover(to: queue) }
      }
      .withBoundSocket(socket.duplicated()).get()
    // NIO has called listen() again with its own backlog. Restore a large one, so that there is room for clients that wait
    // during a restart.
    BywayLibC.listen(socket.descriptor, CInt(SOMAXCONN))
    server.closeFuture.whenComplete { _ in queue.end() }
    return server
  }

  private func sockets(for address: LinkAddress) throws -> [HeldSocket] {
    let sockets = held.sockets(named: try name(of: address))
    guard !sockets.isEmpty else { throw DescriptorFailure.missing(address, among: held) }
    for socket in sockets {
      switch socket.place {
      case .unix: break
      case .internet(let place):
        guard try place.isLoopback || address.isInsecure() else { throw DescriptorFailure.open(address, place) }
      case .other: throw DescriptorFailure.unknownFamily(address)
      }
    }
    return sockets
  }

  private func name(of address: LinkAddress) throws -> String {
    guard address.scheme == scheme, address.authority == nil, !address.path.isEmpty, !address.path.contains("/") else {
      throw BywayError(
        .invalidAddress,
        "\(address) has no name of a socket: write fd:NAME, as FileDescriptorName= of the .socket unit has it."
      )
    }
    return address.path
  }
}
