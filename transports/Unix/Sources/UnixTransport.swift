public import Byway
import BywayLibC
public import NIOCore
import NIOPosix

/// A transport for links over Unix domain sockets: `unix:/run/byway.sock`.
public struct UnixTransport: Transport {
  public let scheme = "unix"
  public let forms = [AddressForm("unix:PATH", "a Unix socket")]
  public let options = [LinkOption("mode", "permission bits of the socket file, in octal; from the umask by default")]

  /// Creates a transport. All options are in the addresses.
  public init() {}

  public func check(_ address: LinkAddress) throws {
    _ = try SocketPath(address)
    _ = try mode(of: address)
  }

  /// Checks that the socket file can be created.
  public func check(_ address: LinkAddress, for opening: Link.Opening) throws {
    let path = try SocketPath(address)
    guard opening == .listen, access(path.directory, W_OK | X_OK) != 0 else { return }
    throw BywayError(.uncreatableFile, UnixFailure.binding(path, errno).message, processing: .none)
  }

  public func audience(of address: LinkAddress) -> Audience { .programs }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    let path = try SocketPath(address)
    if context.journal != nil { try await examine(path, context) }
    return try await context.step(
      "connects", saw: { _, time in .sound("\(address.place) accepts, in \(time.inMilliseconds) ms.") }
    ) {
      try await connect(to: path, context: context)
    }
  }

  /// Makes the steps that connecting includes one by one, for an examination.
  private func examine(_ path: SocketPath, _ context: LinkContext) async throws {
    try await context.step("socket", or: .noFile, saw: { _, _ in .sound("\(path.text) is a socket.") }) {
      try UnixFailure.checkFile(of: path, expecting: context.peer)
    }
    _ = try await context.step(
      "permission", or: .noPermission, saw: { mode, _ in .sound("This user may connect (mode \(mode)).") }
    ) {
      try UnixFailure.checkPermission(of: path)
    }
  }

  private func connect(to path: SocketPath, context: LinkContext) async throws -> any Channel {
    let eventLoop = context.group.next()
    let socket = path.socketAddress
    do {
      return try await UnixBacklog.connect(on: eventLoop, by: context.deadline) {
        ClientBootstrap(group: eventLoop)
          .connectTimeout(context.deadline - .now())
          .channelInitializer { $0.prepareForHandover() }
          .connect(to: socket)
      }.get()
    } catch {
      throw UnixFailure.connecting(to: path, error, expecting: context.peer, isExamined: context.journal != nil)
    }
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let path = try SocketPath(address)
    let (descriptor, file) = try await SocketFile.bind(path, mode: mode(of: address))
    let queue = ChannelQueue()
    let logger = context.logger
    do {
      let server = try await ServerBootstrap(group: context.group)
        .serverChannelInitializer { channel in
          // NIO has called listen() with its own backlog, and ignores the option for a bound socket.
          BywayLibC.listen(descriptor, UnixBacklog.length)
          return channel.acceptWithin(context, on: address)
        }
        .childChannelInitializer { channel in
          channel.logPeerCredentials(of: address, to: logger)
          return channel.prepareForHandover(to: queue)
        }
        .withBoundSocket(descriptor).get()
      server.closeFuture.whenComplete { _ in queue.end() }
      return QueueListener(address: address, queue: queue, keepsArrived: true) {
        // Remove the file first and then the socket, so that no client finds a file without a listener.
        file.removeIfOurs()
        await server.stopAccepting(on: context.group)
      }
    } catch {
      file.removeIfOurs()
      throw UnixFailure.listening(on: path, error)
    }
  }

  private func mode(of address: LinkAddress) throws -> mode_t? {
    guard let text = address[option: "mode"] else { return nil }
    guard let mode = mode_t(text, radix: 8), mode <= 0o777, text.first != "+" else {
      throw BywayError(.invalidAddress, "mode=\(text) is not a permission: write octal digits up to 777, such as 0660.")
    }
    return mode
  }
}
