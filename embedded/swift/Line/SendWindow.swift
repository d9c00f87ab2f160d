/// The units to send. `first` is the first unacknowledged unit, `sent` the first unsent one, and `end` is after the last that was written.
struct SendWindow: ~Copyable {
  private(set) var first = UnitNumber(0)
  private(set) var sent = UnitNumber(0)
  private(set) var end = UnitNumber(0)
  /// The end of the window that the peer has announced.
  private var edge = UnitNumber(0)
  /// The order of the next transmission (section 5).
  private var order: UInt16 = 0
  /// The payload of the next frames in bytes, and the number of acknowledgements without a loss.
  private var payload: UInt16 = 0
  private var streak: UInt8 = 0
  /// Whether the window is the initial one, because there was no acknowledgement yet (section 3).
  private var isAssumed = false
  private(set) var isFinishing = false
  /// Whether the last unit ends the stream.
  private(set) var hasLast = false
  private var slots: Sizes.SendUnits<Slot> = .init(repeating: Slot())
  private var orders: Sizes.SendUnits<UInt16> = .init(repeating: 0)
  private var bytes: Sizes.SendUnits<InlineArray<16, UInt8>> = .init(repeating: .init(repeating: 0))

  /// The initial window of a dialer in units.
  private static var firstWindow: Int { 256 }

  /// Starts the end.
  mutating func start() {
    begin()
    order = 0
  }

  /// Begins a session.
  mutating func begin() {
    first = UnitNumber(0)
    sent = first
    end = first
    edge = first + Self.firstWindow
    isAssumed = true
    isFinishing = false
    hasLast = false
    streak = 0
    payload = 64
  }

  /// Ends a session.
  mutating func endSession() {
    first = end
    sent = end
  }

  private static func index(_ number: UnitNumber) -> Int { Int(number.value) & (Sizes.sendUnits - 1) }

  private var isFull: Bool { end.count(from: first) == Sizes.sendUnits }

  // MARK: - Writing

  mutating func write(_ source: Span<UInt8>) -> Int {
    guard !isFinishing else { return 0 }
    var written = 0
    while written < source.count, hasOpenUnit() {
      let index = Self.index(end - 1)
      let length = slots[index].length
      let part = min(Unit.size &- length, source.count &- written)
      for at in 0..<part { bytes[index][(length &+ at) & 15] = source[unchecked: written &+ at] }
      slots[index].extend(by: part)
      written &+= part
    }
    return written
  }

  /// Whether the last unit was not sent and has room. Otherwise a new one is added, if the window has room for it.
  private mutating func hasOpenUnit() -> Bool {
    if end != sent, slots[Self.index(end - 1)].length < Unit.size { return true }
    return addUnit()
  }

  private mutating func addUnit() -> Bool {
    if isFull { return false }
    slots[Self.index(end)] = Slot()
    end = end + 1
    return true
  }

  /// Returns how many bytes `write` would take.
  mutating func room() -> Int {
    if isFinishing { return 0 }
    let rest = end == sent ? 0 : Unit.size &- slots[Self.index(end - 1)].length
    return Unit.size &* (Sizes.sendUnits &- end.count(from: first)) &+ rest
  }

  /// The number of bytes that were written and not sent, rounded up to units.
  var unsent: Int { Unit.size &* end.count(from: sent) }

  /// Ends the stream after the written bytes.
  mutating func finish() {
    isFinishing = true
    addLast()
  }

  /// Marks the last unit as the end. If all units were sent, that is a new, empty one.
  private mutating func addLast() {
    guard isFinishing, !hasLast, end != sent || addUnit() else { return }
    hasLast = true
  }

  // MARK: - State

  /// Whether some sent units are not acknowledged.
  var isUnacknowledged: Bool { first != sent }
  var isDone: Bool { hasLast && first == end }
  var isAllSent: Bool { sent.ahead(of: end) >= 0 }

  /// Whether only the empty last unit is not acknowledged.
  mutating func waitsForEmptyLast() -> Bool {
    end.count(from: first) == 1 && sent == end && slots[Self.index(first)].length == 0
  }

  /// Whether the window of the peer is full: units wait, and none may be sent.
  mutating func isClosed() -> Bool { !isUnacknowledged && end != first && sendable() == 0 }

  /// Returns the number of units from `first` on that the window allows.
  private mutating func sendable() -> Int {
    let window = edge.ahead(of: first)
    return window <= 0 ? 0 : min(window, end.count(from: first))
  }

  /// Returns the first unit to send; `nil` if there is none.
  mutating func firstToSend() -> UnitNumber? {
    var number = first
    let stop = first + sendable()
    while number != stop {
      if slots[Self.index(number)].isToSend { return number }
      number = number + 1
    }
    return nil
  }

  // MARK: - Sending

  /// Returns the order of a transmission.
  mutating func takeOrder() -> UInt16 {
    defer { order &+= 1 }
    return order
  }

  /// Writes units from a number on as a payload, and marks them as sent.
  /// - Returns: whether they end the stream.
  mutating func send(_ start: UnitNumber, peerPayload: UInt16, to frame: inout OutgoingFrame) -> Bool {
    let limit = first + sendable()
    let order = takeOrder()
    var room = Int(min(payload, peerPayload))
    var number = start
    var length: Int
    repeat {
      let index = Self.index(number)
      length = slots[index].length
      if length > room { break }
      for at in 0..<length { frame.append(bytes[index][at & 15]) }
      room &-= length
      slots[index].send()
      orders[index] = order
      number = number + 1
    } while length == Unit.size && number != limit && slots[Self.index(number)].isToSend
    if number.ahead(of: sent) > 0 { sent = number }
    return hasLast && number == end
  }

  // MARK: - Acknowledgements

  /// Whether an acknowledgement of the units up to `next`, and of `beyond` more in runs, names only units that were sent.
  mutating func covers(_ next: UnitNumber, beyond: Int) -> Bool {
    next.count(from: first) &+ beyond <= sent.count(from: first)
  }

  /// Processes an acknowledgement that `covers` has accepted.
  /// - Parameters:
  /// - window: the announced window; `nil` in DATA.
  /// - poll: the order of the POLL that it answers.
  /// - runs: the index of the runs in the frame.
  /// - Returns: whether it acknowledges a new unit.
  mutating func acknowledge(
    _ next: UnitNumber, window: UInt16?, poll: UInt16?, _ frame: Span<UInt8>, runs: Int
  ) -> Bool {
    var latest = poll
    var isNew = mark(first, next.count(from: first), &latest)
    var stop = sent
    var number = next
    var hasArrived = false
    var index = runs
    while index < frame.count {
      let run = Runs.next(in: frame, at: &index)
      if hasArrived, mark(number, run, &latest) { isNew = true }
      number = number + run
      hasArrived.toggle()
      stop = hasArrived ? number : sent
    }
    first = next
    if let latest { findLosses(before: stop, latest) }
    if let window { takeWindow(next, window) }
    if next.ahead(of: edge) > 0 { edge = next }
    addLast()
    return isNew
  }

  /// Marks units as acknowledged, and raises `latest` to their latest transmission.
  private mutating func mark(_ start: UnitNumber, _ count: Int, _ latest: inout UInt16?) -> Bool {
    var isNew = false
    var number = start
    for _ in 0..<count {
      let index = Self.index(number)
      number = number + 1
      if slots[index].isAcknowledged { continue }
      slots[index].acknowledge()
      if latest.map({ Unit.distance(from: $0, to: orders[index]) > 0 }) ?? true { latest = orders[index] }
      isNew = true
    }
    return isNew
  }

  /// Finds lost units: those sent before the latest transmission that has arrived, and missing at the peer (section 5).
  private mutating func findLosses(before stop: UnitNumber, _ latest: UInt16) {
    var hasLosses = false
    var number = first
    while number != stop {
      let index = Self.index(number)
      number = number + 1
      guard slots[index].isOnTheWay, !slots[index].isAcknowledged,
        Unit.distance(from: orders[index], to: latest) > 0
      else { continue }
      slots[index].lose()
      hasLosses = true
    }
    adapt(hasLosses)
  }

  /// Makes frames larger after acknowledgements without a loss, and smaller after a loss.
  private mutating func adapt(_ hasLosses: Bool) {
    if hasLosses {
      streak = 0
      payload = payload < 128 ? 64 : payload / 32 &* 16
    } else {
      streak &+= 1
      guard streak >= 16 else { return }
      streak = 0
      if Int(payload) &+ Unit.size <= Sizes.payload { payload &+= UInt16(Unit.size) }
    }
  }

  private mutating func takeWindow(_ next: UnitNumber, _ window: UInt16) {
    let offered = next + min(Int(window), Unit.largestWindow)
    if isAssumed {
      edge = offered
      isAssumed = false
      reopenBeyondEdge()
    } else if offered.ahead(of: edge) > 0 {
      edge = offered
    }
  }

  /// Takes the window in an OPEN.
  mutating func open(_ window: UInt16) {
    edge = UnitNumber(UInt16(min(Int(window), Unit.largestWindow)))
    isAssumed = false
  }

  /// Marks the units beyond the first announced window as lost, because the peer has not taken them (section 3).
  private mutating func reopenBeyondEdge() {
    var number = first
    while number != sent {
      if number.ahead(of: edge) >= 0 { slots[Self.index(number)].lose() }
      number = number + 1
    }
  }
}
