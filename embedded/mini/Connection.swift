import CMini

/// A connection of the link, and its connection to the target.
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

  /// Milliseconds.
  private static var connectLimit: UInt32 { 10_000 }
  /// For the first byte of a peer, for a peer whose answer is complete, and for all if no connection is free.
  private static var shortIdle: UInt32 { UInt32(MINI_SHORT_IDLE) }
  /// For a peer that still sends what the target does not take.
  private static var dropping: UInt32 { 5_000 }

  private(set) var state = State.free
  private var link = Endpoint.line
  private var target: CInt = -1
  private var up: Pipe
  private var down: Pipe
  private let place: Int
  /// The time of the latest bytes.
  private var active: UInt32 = 0

  init(place: Int) {
    self.place = place
    up = Pipe(mini_buffer(UInt32(place), 0), capacity: Int(MINI_BUFFER))
    down = Pipe(mini_buffer(UInt32(place), 1), capacity: Int(MINI_BUFFER))
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
      if up.wantsMore { polls[0] = mini_poll(descriptor: link.input, wanted: Int16(MINI_READ), ready: 0) }
      if !down.isEmpty { polls[1] = mini_poll(descriptor: link.output, wanted: Int16(MINI_WRITE), ready: 0) }
      let wanted = (down.wantsMore ? Int16(MINI_READ) : 0) | (up.isEmpty ? 0 : Int16(MINI_WRITE))
      if wanted != 0 { polls[2] = mini_poll(descriptor: target, wanted: wanted, ready: 0) }
    }
  }

  /// Milliseconds until the connection is closed if no bytes come; nil for the session of a line, which has timers of its own.
  func limit(_ idle: UInt32, isFull: Bool) -> UInt32? {
    if state == .connecting { return Self.connectLimit }
    if down.isClosed, up.state == .dropping { return Self.dropping }
    if isLine || stream != nil { return nil }
    return isFull || !up.hasBegun || down.isClosed ? min(idle, Self.shortIdle) : idle
  }

  /// Milliseconds since the latest bytes.
  func silence(_ now: UInt32) -> UInt32 { now &- active }

  // MARK: - Bytes

  /// Passes on what can be. The polls are those of `want`, after the wait.
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
    guard state != .free, case .flowing = up.state, let stream else { return drop(limit) }
    if up.room.count < limit { up.compact() }
    let count = byway_line_read(mini_line(), up.room.start, min(limit, up.room.count))
    if count > 0 {
      up.added(count)
      active = now
    } else if up.room.count == 0 {
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
    if state != .free { up.end() }
  }

  /// Sends another piece on its stream.
  mutating func pour(_ now: UInt32) {
    guard state == .open, stream != nil, !down.isEmpty else { return }
    if !down.drain(to: link, &active, now) { reset() }
  }

  private mutating func move(_ polls: UnsafeMutablePointer<mini_poll>, _ now: UInt32) {
    if polls[0].ready != 0, case .failure = up.fill(from: link, &active, now) { return reset() }
    // The line layer has no descriptor to wait for, so all that it holds is read now.
    while isLine, case .bytes = up.fill(from: link, &active, now), up.drain(to: .socket(target), &active, now) {}
    let waiting = up.waiting.count
    if !up.drain(to: .socket(target), &active, now) { up.refuse() }
    if let stream { Streams.consumed(waiting - up.waiting.count, of: stream) }
    if polls[2].ready & ~Int16(MINI_WRITE) != 0, case .failure = down.fill(from: .socket(target), &active, now) {
      // A server may close its connection behind an early answer, while the peer still sends.
      if up.state != .dropping { return reset() }
      down.end()
    }
    if !down.drain(to: link, &active, now) { return reset() }
    if up.isClosed, down.isClosed { close(now) }
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
    if down.isClosed {
      // The answer is complete, so it is not cut off.
      close(now)
      return nil
    }
    reset()
    return isConnecting ? .target(0) : nil
  }
}
