/// The transmitting end of the line. It decides which byte is sent next and when it ends, and calls the faults.
struct Wire: Sendable {
  private struct SeededFault: Sendable {
    var fault: any LineFault
    var random: SplitMix64

    mutating func carry(_ bytes: inout WireBytes) {
      fault.carry(&bytes, using: &random)
    }

    mutating func foreignBytes(at time: UInt64) -> [UInt8] {
      fault.foreignBytes(at: time, using: &random)
    }
  }

  private var clock: ByteClock
  private var faults: [SeededFault] = []
  /// Bytes of another program, which are sent before all that wait.
  private var foreign = TransmitQueue()
  private var nextForeign: UInt64?

  init(_ configuration: LineConfiguration, seed: UInt64) {
    clock = configuration.clock
    var uses: [String: Int] = [:]
    for fault in configuration.faults {
      let name = type(of: fault).name
      uses[name, default: 0] += 1
      let random = SplitMix64(seed: seed).stream(named: "\(name) \(uses[name, default: 0])")
      faults.append(SeededFault(fault: fault, random: random))
    }
    nextForeign = faults.compactMap(\.fault.nextForeignBytes).min()
  }

  /// Changes the rate from the next byte on.
  mutating func setRate(_ configuration: LineConfiguration) {
    clock = clock.continued(at: configuration.clock)
  }

  /// Sends nothing before this time. A byte that begins then takes its full time.
  mutating func hold(until time: UInt64) {
    clock.idle(until: time)
  }

  /// Does the same as ``hold(until:)`` if there is nothing to send.
  mutating func idle(until time: UInt64) {
    if foreign.isEmpty { clock.idle(until: time) }
  }

  /// Returns the time at which the next byte has left.
  func nextEnd(isWaiting: Bool) -> UInt64? {
    if isWaiting || !foreign.isEmpty { return clock.nextEnd }
    return nextForeign.map { max($0, clock.end) + clock.period }
  }

  /// Returns the time at which this many bytes have left; `nil` for none.
  func end(of count: Int) -> UInt64? {
    count > 0 ? clock.end(of: count + foreign.count) : nil
  }

  /// Returns all bytes that have left the wire by then.
  mutating func transmit(from waiting: inout TransmitQueue, until end: UInt64) -> WireBytes {
    var bytes = WireBytes()
    while true {
      if foreign.isEmpty { takeForeignBytes(isIdle: waiting.isEmpty, by: end) }
      let isForeign = !foreign.isEmpty
      let times = tick(atMost: isForeign ? foreign.count : waiting.count, until: end, yields: !isForeign)
      if times.isEmpty { break }
      bytes.append(
        isForeign ? foreign.removeFirst(times.count) : waiting.removeFirst(times.count), times: times)
      if isForeign { bytes.counters.foreign += times.count }
    }
    for index in faults.indices where !bytes.isEmpty {
      faults[index].carry(&bytes)
    }
    return bytes
  }

  /// Drops the bytes of another program.
  mutating func abandon() {
    foreign.removeAll()
  }

  /// Returns the ends of the next bytes, up to a time or to the next bytes of another program.
  private mutating func tick(atMost limit: Int, until end: UInt64, yields: Bool) -> [UInt64] {
    let turn = yields ? nextForeign ?? .max : .max
    var times: [UInt64] = []
    while times.count < limit, clock.nextEnd <= end, clock.end < turn { times.append(clock.tick()) }
    return times
  }

  /// Collects the bytes of faults that want to write, once the wire is free.
  private mutating func takeForeignBytes(isIdle: Bool, by end: UInt64) {
    guard let due = nextForeign, due <= (isIdle ? end : clock.end) else { return }
    clock.idle(until: due)
    let start = clock.end
    for index in faults.indices {
      guard let next = faults[index].fault.nextForeignBytes, next <= start else { continue }
      foreign.append(faults[index].foreignBytes(at: start))
    }
    nextForeign = faults.compactMap(\.fault.nextForeignBytes).filter { $0 > start }.min()
  }
}
