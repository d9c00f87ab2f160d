import BywayLibC
import BywayPrimitives
import Logging

/// Moves bytes between a medium and the socket of its channel, until either of them ends.
///
/// It blocks its thread. Closing the channel wakes it, so it waits without limit for all else.
struct MediumPump: ~Copyable {
  private enum Phase {
    case running
    /// The channel is closed, and its last bytes have until then to leave.
    case closing(until: UInt64)
    case over
  }

  /// The time for the last bytes of a closed channel.
  private static let patience: UInt64 = 1_000_000_000
  /// The wait before a medium is tried again that reports room and has none.
  private static let pause: UInt64 = 2_000_000
  /// The most bytes of one read or write of a stream.
  private static let chunk = 32 * 1024
  /// The most bytes of one received message; the kernel of Linux 6.1 takes 8,200 over ISO-TP.
  private static let largestMessage = 16 * 1024

  private let medium: LineMedium
  private let socket: CInt
  private let thread: MediumThread?
  private let logger: Logger
  private var phase = Phase.running
  private var outgoing: MessageCutter
  private var incoming: ArraySlice<UInt8> = []
  private var retryAt: UInt64 = 0
  private var buffer: [UInt8]

  /// - Parameters:
  ///   - socket: an open stream socket that does not block, which the pump owns.
  ///   - thread: the thread that runs the pump, if it may have to be interrupted.
  init(_ medium: LineMedium, socket: CInt, thread: MediumThread?, logger: Logger) {
    self.thread = thread
    self.medium = medium
    self.socket = socket
    self.logger = logger
    switch medium.kind {
    case .bytes:
      outgoing = MessageCutter(limit: Self.chunk)
      buffer = [UInt8](repeating: 0, count: Self.chunk)
    case .messages(let limit, _):
      outgoing = MessageCutter(limit: limit)
      buffer = [UInt8](repeating: 0, count: max(limit, Self.largestMessage))
    }
  }

  deinit {
    thread?.willClose()
    // The medium first: the end of the channel says that it can be opened again.
    close(medium.descriptor)
    close(socket)
  }

  consuming func run() {
    while true {
      if thread?.isFinishing == true { startClosing() }
      switch phase {
      case .over: return
      case .closing(let deadline) where outgoing.next == nil || now >= deadline: return
      case .running, .closing: turn()
      }
    }
  }

  private var now: UInt64 { MonotonicClock.now }

  /// Waits until something can be moved, and moves it.
  private mutating func turn() {
    var ready = [
      pollfd(fd: socket, events: 0, revents: 0), pollfd(fd: medium.descriptor, events: 0, revents: 0),
    ]
    let time = now
    var deadline: UInt64?
    if outgoing.next != nil {
      if retryAt > time { deadline = retryAt } else { ready[1].events |= Int16(POLLOUT) }
    }
    switch phase {
    case .running:
      if outgoing.room > 0 { ready[0].events |= Int16(POLLIN) }
      if incoming.isEmpty { ready[1].events |= Int16(POLLIN) } else { ready[0].events |= Int16(POLLOUT) }
    case .closing(let end):
      // Nothing happens to the socket any more, and poll would report its hang-up forever.
      ready[0].fd = -1
      deadline = min(deadline ?? end, end)
    case .over: return
    }
    let timeout = deadline.map { CInt(($0 > time ? $0 - time : 0) / 1_000_000 + 1) } ?? -1
    guard poll(&ready, 2, timeout) >= 0 else {
      if errno != EINTR { end("poll fails: \(SystemError.last)") }
      return
    }
    takeFromChannel(ready[0])
    giveToChannel(ready[0])
    takeFromMedium(ready[1])
    giveToMedium(ready[1])
  }

  // MARK: The channel

  private mutating func takeFromChannel(_ ready: pollfd) {
    let hasHungUp = ready.revents & Int16(POLLHUP | POLLERR) != 0
    guard ready.revents & Int16(POLLIN) != 0 else {
      // It is closed, and bytes that do not fit are lost with the line.
      if hasHungUp { startClosing() }
      return
    }
    let room = min(outgoing.room, buffer.count)
    let count = read(socket, &buffer, room)
    if count > 0 {
      outgoing.add(buffer[..<count])
    } else if count == 0 || errno != EAGAIN && errno != EINTR {
      startClosing()
    }
  }

  private mutating func giveToChannel(_ ready: pollfd) {
    guard ready.revents & Int16(POLLOUT) != 0, case .running = phase else { return }
    let count = incoming.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
    if count >= 0 {
      incoming = count == incoming.count ? [] : incoming.dropFirst(count)
    } else if errno != EAGAIN && errno != EINTR {
      startClosing()
    }
  }

  private mutating func startClosing() {
    if case .running = phase { phase = .closing(until: now + Self.patience) }
  }

  // MARK: The medium

  private mutating func takeFromMedium(_ ready: pollfd) {
    if ready.revents & Int16(POLLIN) != 0 {
      let count = read(medium.descriptor, &buffer, buffer.count)
      if count > 0 {
        incoming = buffer[..<count]
      } else if count == 0 {
        end("the far end has closed it")
      } else {
        recover(from: .last)
      }
    } else if ready.revents & Int16(POLLERR) != 0 {
      // A file has no pending error.
      recover(from: (try? .pending(on: medium.descriptor)) ?? SystemError(code: EIO))
    } else if ready.revents & Int16(POLLHUP | POLLNVAL) != 0 {
      end("it was unplugged")
    }
  }

  private mutating func giveToMedium(_ ready: pollfd) {
    guard ready.revents & Int16(POLLOUT) != 0, let message = outgoing.next else { return }
    let count = message.withUnsafeBytes { bytes in
      switch medium.kind {
      case .bytes: write(medium.descriptor, bytes.baseAddress, bytes.count)
      case .messages: send(medium.descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
      }
    }
    if count >= 0 {
      outgoing.remove(count)
    } else {
      recover(from: .last, losing: message.count)
    }
  }

  /// - Parameter count: the number of bytes of the message that the error is about, if it was being sent.
  private mutating func recover(from error: SystemError, losing count: Int = 0) {
    switch error.code {
    case 0, EINTR: break
    case EAGAIN, ENOBUFS:
      // Old kernels report room while an ISO-TP socket still sends, and a full queue of an interface is not reported at all.
      retryAt = now + Self.pause
    default:
      guard case .messages(_, let loss) = medium.kind, loss.contains(error.code) else { return end("\(error)") }
      outgoing.remove(count)
      logger.debug("Message lost", metadata: ["line": "\(medium.name)", "reason": "\(error)"])
    }
  }

  private mutating func end(_ reason: String) {
    logger.debug("Line ends", metadata: ["line": "\(medium.name)", "reason": "\(reason)"])
    phase = .over
  }
}
