/// Units to send: from `first` (not acknowledged) by `sent` (not sent) to `end` (not written).
struct SendWindow: ~Copyable {
  private(set) var first = UnitNumber(0)
  private(set) var sent = UnitNumber(0)
  private(set) var end = UnitNumber(0)
  /// The end of the window that the peer told.
  private var edge = UnitNumber(0)
  /// The order of the next transmission (section 5).
  private var order: UInt16 = 0
  /// Bytes of the payload of the next frames, and acknowledgements without a loss.
  private var payload: UInt16 = 0
  private var streak: UInt8 = 0
  /// The window is assumed until the first acknowledgement (section 3).
  private var isAssumed = false
  private(set) var isFinishing = false
  /// The last unit is known to be the last.
  private(set) var hasLast = false
  private var slots: Sizes.SendUnits<Slot> = .init(repeating: Slot())
  private var orders: Sizes.SendUnits<UInt16> = .init(repeating: 0)
  private var bytes: Sizes.SendUnits<InlineArray<16, UInt8>> = .init(repeating: .init(repeating: 0))

  /// The window that a dialer assumes.
  private static var firstWindow: Int { 256 }

  /// An end begins.
  mutating func start() {
    begin()
    order = 0
  }

  /// A session begins.
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

  /// A session is over.
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

  /// Whether the last unit was never sent and has room. Otherwise a new one is added if the window has room for it.
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

  /// How many bytes `write` would take.
  mutating func room() -> Int {
    if isFinishing { return 0 }
    let rest = end == sent ? 0 : Unit.size &- slots[Self.index(end - 1)].length
    return Unit.size &* (Sizes.sendUnits &- end.count(from: first)) &+ rest
  }

  /// About how many bytes were written and not sent yet.
  var unsent: Int { Unit.size &* end.count(from: sent) }

  /// The stream ends behind what was written.
  mutating func finish() {
    isFinishing = true
    addLast()
  }

  /// Marks the last unit, which is an empty one if all were sent.
  private mutating func addLast() {
    guard isFinishing, !hasLast, end != sent || addUnit() else { return }
    hasLast = true
  }

  // MARK: - State

  /// Whether sent units are not acknowledged.
  var isUnacknowledged: Bool { first != sent }
  var isDone: Bool { hasLast && first == end }
  var isAllSent: Bool { sent.ahead(of: end) >= 0 }

  /// Whether only the empty last unit is not acknowledged.
  mutating func waitsForEmptyLast() -> Bool {
    end.count(from: first) == 1 && sent == end && slots[Self.index(first)].length == 0
  }

  /// Whether the window is closed: units wait, and none may be sent.
  mutating func isClosed() -> Bool { !isUnacknowledged && end != first && sendable() == 0 }

  /// Units from `first` on that the window allows to send.
  private mutating func sendable() -> Int {
    let window = edge.ahead(of: first)
    return window <= 0 ? 0 : min(window, end.count(from: first))
  }

  /// The first unit to send, if there is one.
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

  /// Takes the order of a transmission.
  mutating func takeOrder() -> UInt16 {
    defer { order &+= 1 }
    return order
  }

  /// Writes units from a number on as a payload, and marks them as sent.
  /// - Returns: whether they are the last.
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

  /// Whether an acknowledgement of units up to `next`, and of `beyond` more in runs, is of units that were sent.
  mutating func covers(_ next: UnitNumber, beyond: Int) -> Bool {
    next.count(from: first) &+ beyond <= sent.count(from: first)
  }

  /// Takes an acknowledgement that `covers` has accepted.
  /// - Parameters:
  ///   - window: what it offers; `nil` on DATA.
  ///   - poll: the order of the POLL that it answers.
  ///   - runs: where the runs begin in the frame.
  /// - Returns: whether a unit is acknowledged that was not before.
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

  /// Marks units as acknowledged, and raises `latest` to their transmissions.
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

  /// Finds units that were sent before the latest transmission that arrived, and have not arrived: they are lost (section 5).
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

  /// Chooses larger frames after frames without a loss, and smaller ones after a loss.
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

  /// Takes the window that an OPEN offers.
  mutating func open(_ window: UInt16) {
    edge = UnitNumber(UInt16(min(Int(window), Unit.largestWindow)))
    isAssumed = false
  }

  /// The assumed window was larger than the first that was offered: what is beyond it was not taken (section 3).
  private mutating func reopenBeyondEdge() {
    var number = first
    while number != sent {
      if number.ahead(of: edge) >= 0 { slots[Self.index(number)].lose() }
      number = number + 1
    }
  }
}
