public import Byway
import BywayLibC
import BywayPrimitives
public import NIOCore
import NIOPosix
import Synchronization

/// A transport for links inside one process: `loopback:NAME`. The channels use a socket pair, with the kernel's back-pressure.
public struct LoopbackTransport: Transport {
  public let scheme = "loopback"
  public let forms = [AddressForm("loopback:NAME", "within this process, for tests")]
  private let names: LoopbackNames

  /// Creates a transport with its own names, or with those of the process.
  /// - Parameter names: the store in which listeners are found. Two transports that share it can connect to each other.
  public init(names: LoopbackNames = .process) {
    self.names = names
  }

  public func check(_ address: LinkAddress) throws {
    guard address.authority == nil, !address.path.isEmpty else {
      throw BywayError(.invalidAddress, "\(address) has no name: write loopback:NAME.")
    }
  }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    try check(address)
    guard let listener = names[address.path] else {
      let known = names.all.isEmpty ? "no names are known" : "known names: \(names.all.joined(separator: ", "))"
      throw Self.unavailable(
        "Nothing listens on \(address) in this process; \(known). Start the listener first.")
    }
    let (near, far) = try socketPair()
    let channel: any Channel
    do {
      channel = try await open(near, on: context.group, queue: nil)
    } catch {
      close(far)
      throw error
    }
    guard let accepted = try? await open(far, on: listener.group, queue: listener.queue), accepted.isActive else {
      channel.close(promise: nil)
      throw Self.unavailable("\(address) takes no more connections: it is closing, or too many wait to be accepted.")
    }
    return channel
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    try check(address)
    let name = address.path
    let listener = LoopbackNames.Listener(group: context.group, queue: ChannelQueue())
    guard names.add(listener, as: name) else {
      throw Self.unavailable(
        "\(address) is already in use in this process: close that listener, or choose another name.")
    }
    return QueueListener(address: address, queue: listener.queue) { [names] in names.remove(listener, as: name) }
  }

  private func socketPair() throws -> (CInt, CInt) {
    var pair: [CInt] = [-1, -1]
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    guard socketpair(AF_UNIX, type, 0, &pair) == 0 else {
      throw Self.unavailable("Cannot make a socket pair: \(SystemError.last).")
    }
    return (pair[0], pair[1])
  }

  private func open(_ socket: CInt, on group: any EventLoopGroup, queue: ChannelQueue?) async throws -> any Channel {
    let eventLoop = group.next()
    return try await withCheckedThrowingContinuation { continuation in
      let opening = Opening(socket, continuation)
      eventLoop.execute {
        opening.isBegun.withLock { $0 = true }
        ClientBootstrap(group: eventLoop)
          .channelInitializer { $0.prepareForHandover(to: queue) }
          .withConnectedSocket(socket).whenComplete { opening.end($0) }
      }
    }
  }

  /// A channel that is being opened. An event loop that has shut down drops its tasks, and does not even complete futures: then the last
  /// reference to this object is released, which fails the opening.
  private final class Opening: Sendable {
    private let socket: CInt
    private let continuation: Mutex<CheckedContinuation<any Channel, any Error>?>
    /// Whether the socket belongs to a channel.
    let isBegun = Mutex(false)

    init(_ socket: CInt, _ continuation: CheckedContinuation<any Channel, any Error>) {
      self.socket = socket
      self.continuation = Mutex(continuation)
    }

    func end(_ result: Result<any Channel, any Error>) {
      continuation.withLock { $0.take() }?.resume(with: result)
    }

    deinit {
      if !isBegun.withLock(\.self) { close(socket) }
      end(.failure(LoopbackTransport.unavailable("The event loop for this link has shut down.")))
    }
  }

  private static func unavailable(_ message: String) -> BywayError {
    BywayError(.linkUnavailable, message, processing: .none)
  }
}
