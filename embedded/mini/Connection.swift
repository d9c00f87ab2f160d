import CMini

/// A pair of connections: to a peer of the link, and to the target.
///
/// It ends in one of four ways. `close`: both directions have ended, and nothing is lost. `reset`: before that, with a reset on both sides.
/// `forget`: the session of the peer is over, so only the target gets a reset. `expire`: a time limit was reached, which is one of the first two.
struct Connection {
  enum State {
    case free
    case connecting
    case open
  }

  /// Why a connection was closed.
  enum Failure {
    /// A negative error number, or 0 if the target did not answer in time.
    case target(Int)
  }

  /// The time to connect to the target. This and the next ones are in milliseconds.
  private static var connectLimit: UInt32 { 10_000 }
  /// The idle time of a peer before its first byte and after its answer, and of all peers if no connection is free.
  private static var shortIdle: UInt32 { UInt32(MINI_SHORT_IDLE) }
  /// The idle time of a peer that still sends after the target has closed.
  private static var dropping: UInt32 { 5_000 }

  private(set) var state = State.free
  private var link = Endpoint.line
  private var target: CInt = -1
  /// Bytes of the peer for the target, and bytes of the target for the peer.
  private var toTarget: Pipe
  private var toPeer: Pipe
  private let place: Int
  /// The time of the latest bytes in milliseconds.
  private var active: UInt32 = 0

  init(place: Int) {
    self.place = place
    toTarget = Pipe(mini_buffer(UInt32(place), 0), capacity: Int(MINI_BUFFER))
    toPeer = Pipe(mini_buffer(UInt32(place), 1), capacity: Int(MINI_BUFFER))
  }

  var isFree: Bool { state == .free }

  private var isLine: Bool { if case .line = link { true } else { false } }

  private var stream: Int? { if case .stream(let number) = link { number } else { nil } }

  /// Begins to connect to the target for a peer of the link.
  mutating func begin(_ link: Endpoint, _ address: inout mini_address, _ now: UInt32) -> Failure? {
    self = Connection(place: place)
    self.link = link
    active = now
    let descriptor = mini_connect(&address)
    guard descriptor >= 0 else {
      link.reset()
      return .target(descriptor)
    }
    target = CInt(truncatingIfNeeded: descriptor)
    state = .connecting
    return nil
  }

  /// Closes both sides before their end.
  mutating func reset() {
    guard state != .free else { return }
    mini_reset(target)
    link.reset()
    state = .free
  }

  /// Closes the connection to the target of a session that is over.
  mutating func forget() {
    guard state != .free else { return }
    mini_reset(target)
    state = .free
  }

  // MARK: - Waiting

  /// Fills in the descriptors to wait for: the link's input and output, and the target.
  func want(_ polls: UnsafeMutablePointer<mini_poll>) {
    for index in 0..<3 { polls[index] = mini_poll(descriptor: -1, wanted: 0, ready: 0) }
    switch state {
    case .free: break
    case .connecting: polls[2] = mini_poll(descriptor: target, wanted: Int16(MINI_WRITE), ready: 0)
    case .open:
      if toTarget.wantsMore { polls[0] = mini_poll(descriptor: link.input, wanted: Int16(MINI_READ), ready: 0) }
      if !toPeer.isEmpty { polls[1] = mini_poll(descriptor: link.output, wanted: Int16(MINI_WRITE), ready: 0) }
      let wanted = (toPeer.wantsMore ? Int16(MINI_READ) : 0) | (toTarget.isEmpty ? 0 : Int16(MINI_WRITE))
      if wanted != 0 { polls[2] = mini_poll(descriptor: target, wanted: wanted, ready: 0) }
    }
  }

  /// Returns the milliseconds without bytes after which the connection is closed; `nil` for a session of a line, which has its own timers.
  func limit(_ idle: UInt32, isFull: Bool) -> UInt32? {
    if state == .connecting { return Self.connectLimit }
    if toPeer.isClosed, toTarget.state == .dropping { return Self.dropping }
    if isLine || stream != nil { return nil }
    return isFull || !toTarget.hasBegun || toPeer.isClosed ? min(idle, Self.shortIdle) : idle
  }

  /// Returns the milliseconds since the latest bytes.
  func silence(_ now: UInt32) -> UInt32 { now &- active }

  // MARK: - Bytes

  /// Passes on the bytes for which there is room. The polls are those of `want`, after the wait.
  mutating func run(_ polls: UnsafeMutablePointer<mini_poll>, _ now: UInt32) -> Failure? {
    if state == .connecting, polls[2].ready != 0 {
      let result = mini_connected(target)
      guard result == 0 else {
        reset()
        return .target(result)
      }
      state = .open
      active = now
      polls[2].ready = 0
    }
    if state == .open { move(polls, now) }
    return nil
  }

  /// Reads bytes of its stream from the line, at most `limit`.
  mutating func take(_ limit: Int, _ now: UInt32) -> Int {
    guard state != .free, case .flowing = toTarget.state, let stream else { return drop(limit) }
    if toTarget.room.count < limit { toTarget.compact() }
    let count = byway_line_read(mini_line(), toTarget.room.start, min(limit, toTarget.room.count))
    if count > 0 {
      toTarget.added(count)
      active = now
    } else if toTarget.room.count == 0 {
      // Not reached: the client has no credit then.
      Streams.abort(stream)
      return drop(limit)
    }
    return count
  }

  private func drop(_ limit: Int) -> Int {
    var bytes = InlineArray<256, UInt8>(repeating: 0)
    var span = bytes.mutableSpan
    let count = span.withUnsafeMutableBufferPointer { buffer -> Int in
      guard let start = buffer.baseAddress else { return 0 }
      return byway_line_read(mini_line(), start, min(limit, buffer.count))
    }
    if state != .free, let stream { Streams.consumed(count, of: stream) }
    return count
  }

  /// The client sends nothing more on its stream.
  mutating func endInput() {
    if state != .free { toTarget.end() }
  }

  /// Sends another piece on its stream.
  mutating func pour(_ now: UInt32) {
    guard state == .open, stream != nil, !toPeer.isEmpty else { return }
    if !toPeer.drain(to: link, &active, now) { reset() }
  }

  private mutating func move(_ polls: UnsafeMutablePointer<mini_poll>, _ now: UInt32) {
    if polls[0].ready != 0, case .failure = toTarget.fill(from: link, &active, now) { return reset() }
    // The line layer has no descriptor to wait for, so all that it holds is read now.
    while isLine, case .bytes = toTarget.fill(from: link, &active, now),
      toTarget.drain(to: .socket(target), &active, now)
    {}
    let waiting = toTarget.waiting.count
    if !toTarget.drain(to: .socket(target), &active, now) { toTarget.refuse() }
    if let stream { Streams.consumed(waiting - toTarget.waiting.count, of: stream) }
    if polls[2].ready & ~Int16(MINI_WRITE) != 0, case .failure = toPeer.fill(from: .socket(target), &active, now) {
      // A server may close its connection behind an early answer, while the peer still sends.
      if toTarget.state != .dropping { return reset() }
      toPeer.end()
    }
    if !toPeer.drain(to: link, &active, now) { return reset() }
    if toTarget.isClosed, toPeer.isClosed { close(now) }
  }

  /// Closes both sides after their end.
  private mutating func close(_ now: UInt32) {
    mini_close(target)
    link.close(now)
    state = .free
  }

  /// The connection has reached its limit.
  mutating func expire(_ now: UInt32) -> Failure? {
    let isConnecting = state == .connecting
    if toPeer.isClosed {
      // The answer is complete, so it is not cut off.
      close(now)
      return nil
    }
    reset()
    return isConnecting ? .target(0) : nil
  }
}
