import BywayLibC
import BywayPrimitives
public import Logging
public import NIOCore

/// An open medium of a line that an event loop cannot use: it keeps messages apart, or its state changes between two calls of an event loop.
/// An ISO-TP socket, a socket for datagrams, a virtio port.
///
/// Above it runs the line layer, so a transport that makes its channels here returns ``LineProperties`` from ``Transport/line(for:)``.
/// Messages may be lost, but must arrive unchanged or damaged, not joined. A message has whole frames of the line layer where its limit
/// allows that, so a lost message damages no other. Frames of a message that arrives late count as lost.
public struct LineMedium: Sendable {
  /// The unit in which a medium takes and delivers bytes.
  public enum Kind: Sendable, Hashable {
    /// A stream of bytes.
    case bytes
    /// Messages of up to `limit` bytes, on a socket. An error (errno) in `loss` loses the message that it is about, and nothing else; any
    /// other ends the channel.
    case messages(limit: Int, loss: Set<CInt>)
  }

  package let descriptor: CInt
  package let kind: Kind
  /// The medium in log messages.
  package let name: String
  /// The device at the other end, if the medium tells one from another: the session of a device continues only over lines to that device.
  package var peer: String?

  /// Creates a medium of an open descriptor. It does not own it before ``open(on:to:logger:)``.
  /// - Parameters:
  ///   - descriptor: an open descriptor with O_NONBLOCK, which the channel will own.
  ///   - kind: the unit of the medium.
  ///   - name: the medium in log messages.
  public init(_ descriptor: CInt, _ kind: Kind, name: String) {
    self.descriptor = descriptor
    self.kind = kind
    self.name = name
  }

  /// Makes a channel of the medium, which is closed with the channel, and before the channel's close completes. It is also closed if this
  /// fails.
  ///
  /// A thread moves the bytes between the medium and a pair of sockets, because only that pair fits an event loop.
  /// - Parameters:
  ///   - group: the group of the channel's event loop.
  ///   - queue: the queue that receives the channel when it is active; `nil` if the caller owns it.
  ///   - logger: the logger for the reason why the medium ends.
  /// - Returns: an active channel that holds bytes until it is read. It cannot close one direction.
  /// - Throws: an error of the system if there are no descriptors or threads left.
  public func open(on group: any EventLoopGroup, to queue: ChannelQueue? = nil, logger: Logger) async throws
    -> any Channel
  {
    let thread: MediumThread? = if case .messages = kind { MediumThread() } else { nil }
    return try await open(on: group, to: queue, thread: thread, logger: logger)
  }

  func open(on group: any EventLoopGroup, to queue: ChannelQueue?, thread: MediumThread?, logger: Logger) async throws
    -> any Channel
  {
    let limit: Int? = if case .messages(let limit, _) = kind { limit } else { nil }
    do {
      return try await ThreadChannel.open(on: group, to: queue, sendLimit: limit, peer: peer, thread: thread) {
        socket in
        thread?.begin()
        MediumPump(self, socket: socket, thread: thread, logger: logger).run()
        thread?.end()
      }
    } catch let failure as ThreadChannel.StartFailure {
      close(descriptor)
      throw failure.reason
    }
  }
}
