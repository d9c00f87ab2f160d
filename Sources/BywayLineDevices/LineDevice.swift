import BywayLibC
import BywayLineEmulation

/// An end of a line: a device that programs open, and the bytes between it and the emulated line. It belongs to the line's thread.
final class LineDevice {
  let end: VirtualLink.End
  private(set) var name: TerminalLink
  private var terminal: PseudoTerminal?
  /// The rate of a new device; `nil` if rates do not matter.
  private let rate: Int?
  /// Arrived, but the terminal had no room.
  private var unwritten: ArraySlice<UInt8> = []
  /// The hang-ups of the line that were carried out.
  private var hangUps = 0
  private var renames = 0
  /// When to try again to open it.
  private(set) var retry: UInt64?

  init(end: VirtualLink.End, path: String, rate: Int? = nil) throws(LineFailure) {
    self.end = end
    self.rate = rate
    name = TerminalLink(path)
    try open()
  }

  /// Arrived and neither read nor lost: for the accounts.
  var unwrittenCount: Int { unwritten.count }
  /// The reader is behind.
  var isBlocked: Bool { !unwritten.isEmpty }
  /// The writer is told to wait.
  var isStopped: Bool { terminal?.isStopped ?? false }

  /// Closes the device where its line has hung up since the last call, which is how programs hear of it.
  /// - Returns: how many bytes that lost; `nil` where nothing was closed.
  func follow(_ line: EmulatedLine) -> Int? {
    guard line.hangUps > hangUps else { return nil }
    hangUps = line.hangUps
    let lost = close()
    for _ in renames..<line.renames { name.advance() }
    renames = line.renames
    return lost
  }

  @discardableResult
  func close() -> Int? {
    guard let terminal else { return nil }
    name.remove(terminal.name)
    self.terminal = nil
    defer { unwritten = [] }
    return unwritten.count
  }

  var isOpen: Bool { terminal != nil }

  func open() throws(LineFailure) {
    let terminal = try PseudoTerminal(rate: rate)
    try name.place(terminal.name)
    self.terminal = terminal
    retry = nil
  }

  /// The rates that programs have set on it; `nil` without a device.
  var rates: LineRates? { terminal?.rates }

  func retry(at time: UInt64) {
    retry = time
  }

  /// Takes from the programs what the transmit queue takes, and stops them where it is full.
  ///
  /// The kernel's own queue of a pseudo-terminal (about 15 KB) is always emptied into the emulated one, and writers are held
  /// back when that is full; so they see a tty that queues as much as it should, and not both. Only a single write that is
  /// larger goes into the kernel's queue, as one call cannot be interrupted. They go on at half of the queue, because a
  /// wake-up for each byte would cost more than the line.
  func readInput(into link: inout VirtualLink, limit: Int) {
    guard let terminal else { return }
    var room = link.acceptable(from: end)
    while room > 0 {
      let bytes = terminal.read(atMost: min(room, 4096))
      if bytes.isEmpty { break }
      room -= link.send(bytes, from: end)
    }
    if room == 0 {
      terminal.stop(true)
    } else if room >= limit / 2 {
      terminal.stop(false)
    }
  }

  /// Gives the programs the bytes that have arrived. If they have no room, the bytes wait in the line's receive buffer, and are lost when
  /// that is full.
  func writeOutput(from link: inout VirtualLink) {
    while true {
      if unwritten.isEmpty { unwritten = link.receive(at: end, atMost: 4096)[...] }
      guard let terminal, !unwritten.isEmpty else { return }
      let count = terminal.write(unwritten)
      if count == 0 { return }
      unwritten.removeFirst(count)
    }
  }

  /// The event that wakes the thread.
  var interest: pollfd {
    guard let terminal else { return pollfd(fd: -1, events: 0, revents: 0) }
    let events = (terminal.isStopped ? 0 : POLLIN) | (isBlocked ? POLLOUT : 0)
    return pollfd(fd: events == 0 ? -1 : terminal.descriptor, events: Int16(events), revents: 0)
  }
}
