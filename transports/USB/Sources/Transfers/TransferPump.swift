import BywayLibC
import BywayPrimitives
import Logging

/// Moves bytes between a pipe and the socket of its channel, until either of them ends. It blocks its thread.
struct TransferPump: ~Copyable {
  private enum Phase {
    case running
    /// The channel is closed, and its last bytes have until then to leave.
    case closing(until: UInt64)
  }

  /// The size of a receiver's buffers. A sender's transfers are shorter.
  static let size = 16 * 1024
  /// The transfers in flight in each direction. They cover a tick of 4 ms at 60 MB/s, the worst of kernels and controllers.
  static let depth = 16
  /// The time for the last bytes of a closed channel.
  private static let patience: UInt64 = 500_000_000

  private let pipe: any BulkPipe
  private let socket: CInt
  private let name: String
  private let logger: Logger
  private let released: () -> Void
  private let memory: UnsafeMutableRawBufferPointer
  private var phase = Phase.running
  private var incoming = TransferRing(count: depth)
  private var cutter = TransferCutter()
  private var isSending = Array(repeating: false, count: depth)
  private var nextSlot = 0

  /// - Parameters:
  ///   - pipe: an open pipe, which the pump owns.
  ///   - socket: an open stream socket that does not block, which the pump owns.
  ///   - name: the link in log messages.
  ///   - released: called when the pipe is closed, and the channel not yet.
  init(
    _ pipe: any BulkPipe, socket: CInt, name: String, logger: Logger, released: @escaping () -> Void = {}
  ) {
    self.pipe = pipe
    self.socket = socket
    self.name = name
    self.logger = logger
    self.released = released
    memory = .allocate(byteCount: 2 * Self.depth * Self.size, alignment: 4096)
  }

  deinit {
    // The pipe first: it uses the memory, and the end of the channel says that the device can be opened again.
    pipe.close()
    memory.deallocate()
    released()
    close(socket)
  }

  consuming func run() {
    do {
      for slot in 0..<Self.depth { try receive(slot) }
      while try turn() {}
    } catch {
      logger.debug("Line ends", metadata: ["line": "\(name)", "reason": "\(error.reason)"])
    }
  }

  private func buffer(_ index: Int) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: memory[index * Self.size..<(index + 1) * Self.size])
  }

  /// Waits until something can be moved, and moves it.
  /// - Returns: whether there is more to do.
  private mutating func turn() throws(PipeEnd) -> Bool {
    let time = MonotonicClock.now
    var ready = [pollfd(fd: socket, events: 0, revents: 0)] + pipe.waits
    var timeout: CInt = -1
    switch phase {
    case .running:
      if incoming.next != nil { ready[0].events |= Int16(POLLOUT) }
      // A carried byte waits only for a free slot, and leaves as soon as there is one.
      if !isSending[nextSlot] { ready[0].events |= Int16(POLLIN) }
    case .closing(let end):
      guard isSending.contains(true) || cutter.carried != nil, time < end else { return false }
      // Nothing happens to the socket any more, and poll would report its hang-up forever.
      ready[0].fd = -1
      timeout = CInt((end - time) / 1_000_000 + 1)
    }
    guard poll(&ready, nfds_t(ready.count), timeout) >= 0 else {
      if errno == EINTR { return true }
      throw PipeEnd("poll fails: \(SystemError.last)")
    }
    try takeCompletions()
    try deliver()
    try takeFromChannel(hasHungUp: ready[0].revents & Int16(POLLHUP | POLLERR) != 0)
    return true
  }

  // MARK: From the pipe

  private mutating func receive(_ slot: Int) throws(PipeEnd) {
    try pipe.receive(into: buffer(slot), slot: slot)
  }

  private mutating func takeCompletions() throws(PipeEnd) {
    while let completion = try pipe.nextCompletion() {
      switch completion {
      case .received(let slot, let count): incoming.filled(slot, count: count)
      case .sent(let slot): isSending[slot] = false
      }
    }
  }

  private mutating func deliver() throws(PipeEnd) {
    while let next = incoming.next {
      var count = 0
      if !next.range.isEmpty, case .running = phase {
        let bytes = UnsafeRawBufferPointer(rebasing: buffer(next.slot)[next.range])
        count = send(socket, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
        if count < 0 {
          if errno != EAGAIN && errno != EINTR { startClosing() }
          return
        }
      } else {
        // An empty transfer has nothing to deliver, and a closed channel takes nothing.
        count = next.range.count
      }
      if let slot = incoming.delivered(count) { try receive(slot) }
    }
  }

  // MARK: From the channel

  private mutating func takeFromChannel(hasHungUp: Bool) throws(PipeEnd) {
    while !isSending[nextSlot] {
      let buffer = buffer(Self.depth + nextSlot)
      var count = 0
      if let byte = cutter.carried {
        buffer[0] = byte
        count = 1
      }
      if case .running = phase {
        let read = recv(socket, buffer.baseAddress.map { $0 + count }, buffer.count - 1 - count, 0)
        if read > 0 {
          count += read
        } else if read == 0 || errno != EAGAIN && errno != EINTR {
          startClosing()
        }
      }
      guard count > 0 else { return }
      count = cutter.cut(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      try pipe.send(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), slot: nextSlot)
      isSending[nextSlot] = true
      nextSlot = (nextSlot + 1) % Self.depth
    }
    // Bytes that do not fit are lost with the line.
    if hasHungUp { startClosing() }
  }

  private mutating func startClosing() {
    if case .running = phase { phase = .closing(until: MonotonicClock.now + Self.patience) }
  }
}
