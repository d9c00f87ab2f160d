/// A direction of a serial line in virtual time. It takes bytes as fast as a tty does, and delivers them at the rate of the line with the
/// configured faults.
///
/// A value without a clock or random numbers of its own. The same configuration, seed and calls give the same bytes at the same times, and
/// the number of calls makes no difference. Times are nanoseconds since the creation of the line, and do not go back.
public struct EmulatedLine: Sendable {
  /// Counters of the bytes so far.
  public private(set) var counters = LineCounters()
  /// The number of times that the sender's device has hung up, and that it returned under another name. A short cut may begin and end
  /// between two calls, so look for a change of these numbers.
  package private(set) var hangUps = 0
  package private(set) var renames = 0

  private var configuration: LineConfiguration
  /// The rate of the reader; `nil` if it is that of the line.
  private var readRate: Int?
  private var receiver: MismatchedReceiver?
  private let transmitLimit: Int
  private let receiveLimit: Int
  private let batch: UInt64
  private var now: UInt64 = 0
  private var waiting = TransmitQueue()
  private var wire: Wire
  private var arrivals = ArrivalQueue()
  private var cuts: CutSchedule
  private var isGone = false

  /// A line without any bytes yet.
  /// - Parameters:
  /// - configuration: values that ``LineConfiguration/check()`` would refuse are replaced by the nearest valid ones.
  /// - seed: the seed of all random decisions.
  public init(_ configuration: LineConfiguration, seed: UInt64) {
    self.configuration = configuration
    transmitLimit = max(1, configuration.transmitQueue)
    receiveLimit = max(1, configuration.receiveBuffer)
    batch = configuration.batch.nanoseconds
    wire = Wire(configuration, seed: seed)
    cuts = CutSchedule(configuration.cuts)
  }

  /// Hands bytes to the transmitter.
  /// - Returns: the number of accepted bytes. Offer the rest again later, as after EAGAIN. It is 0 while the device is gone.
  @discardableResult
  public mutating func send(_ bytes: some Collection<UInt8>, at time: UInt64) -> Int {
    let count = min(bytes.count, acceptable(at: time))
    guard count > 0 else { return 0 }
    if waiting.isEmpty { wire.idle(until: now) }
    waiting.append(bytes.prefix(count))
    counters.sent += count
    return count
  }

  /// Returns how many bytes the transmitter accepts now.
  public mutating func acceptable(at time: UInt64) -> Int {
    advance(to: time)
    guard cuts.kind(at: now)?.closesDevice != true else { return 0 }
    return transmitLimit - waiting.count
  }

  /// Takes the bytes that have arrived.
  public mutating func receive(at time: UInt64, atMost limit: Int = .max) -> [UInt8] {
    advance(to: time)
    let bytes = arrivals.take(atMost: limit, by: now)
    counters.delivered += bytes.count
    return bytes
  }

  /// Drops the bytes that have arrived, because there is no reader.
  mutating func discard(at time: UInt64) {
    advance(to: time)
    counters.dropped += arrivals.take(atMost: .max, by: now).count
  }

  /// The earliest time at which a byte may arrive. `nil` if no bytes are in transit.
  public var nextArrival: UInt64? {
    [arrivals.first, nextTransmission?.roundedUp(to: batch), receiverEnd].compactMap(\.self).min()
  }

  /// The time at which the next byte will have left the transmitter. During a stall, the time at which the stall may end.
  package var nextTransmission: UInt64? {
    switch cuts.kind(at: now) {
    case nil, .lose: wire.nextEnd(isWaiting: !waiting.isEmpty)
    case .stall: waiting.isEmpty ? nil : cuts.nextChange(after: now)
    case .hangUp, .rename: nil
    }
  }

  /// The time at which all bytes in transit will have arrived, as far as it is known now.
  package var lastArrival: UInt64? {
    [arrivals.last, wire.end(of: waiting.count)?.roundedUp(to: batch), receiverEnd].compactMap(\.self).max()
  }

  /// The time at which a reader at another rate completes a byte, if nothing more is sent.
  private var receiverEnd: UInt64? {
    guard waiting.isEmpty, cuts.kind(at: now) == nil else { return nil }
    return receiver?.end.map { max($0, now).roundedUp(to: batch) }
  }

  /// Changes the rates of both ends. The line has the rate of the sender. A reader at another rate reads wrong bytes.
  /// - Parameters:
  ///   - sender: bits per second; the nearest that can be emulated is used.
  ///   - reader: bits per second.
  package mutating func setRates(sender: Int, reader: Int, at time: UInt64) {
    let (sender, reader) = (Self.possible(sender), Self.possible(reader))
    guard sender != configuration.baud || reader != readRate ?? configuration.baud else { return }
    advance(to: time)
    if sender != configuration.baud {
      configuration.baud = sender
      wire.setRate(configuration)
    }
    readRate = reader == sender ? nil : reader
    receiver = readRate.map {
      MismatchedReceiver(
        sent: Double(sender) * (1 + configuration.clockError), read: Double($0),
        bitsPerCharacter: configuration.bitsPerCharacter)
    }
  }

  private static func possible(_ rate: Int) -> Int {
    min(max(rate, Int(LineConfiguration.bauds.lowerBound)), Int(LineConfiguration.bauds.upperBound))
  }

  /// Returns the time at which the transmitter can take this many bytes at once, at most its whole queue.
  package func nextRoom(for count: Int) -> UInt64? {
    guard nextTransmission != nil else { return nil }
    return wire.end(of: waiting.count + min(count, transmitLimit) - transmitLimit) ?? now
  }

  /// The cut that is in effect now.
  public mutating func cut(at time: UInt64) -> Cut.Kind? {
    advance(to: time)
    return cuts.kind(at: now)
  }

  /// The time of the next scheduled begin or end of a cut.
  public var nextCutChange: UInt64? { cuts.nextChange(after: now) }

  /// Cuts the line until ``restore(at:)``.
  public mutating func cut(_ kind: Cut.Kind, at time: UInt64) {
    advance(to: time)
    cuts.begin(kind, at: now)
    note(kind)
  }

  /// Ends all cuts that have begun.
  public mutating func restore(at time: UInt64) {
    advance(to: time)
    cuts.end(at: now)
    note(nil)
  }

  /// Sends the bytes whose time has come, in sections between the cuts.
  mutating func advance(to time: UInt64) {
    while now < time {
      let kind = cuts.kind(at: now)
      let end = min(time, cuts.nextChange(after: now) ?? .max)
      note(kind)
      switch kind {
      case nil, .lose:
        var bytes = wire.transmit(from: &waiting, until: end)
        if kind == .lose { bytes.remove(at: Array(0..<bytes.count)) }
        receiver?.read(&bytes)
        counters.add(bytes.counters)
        arrivals.append(bytes, batch: batch)
        if waiting.isEmpty, let late = receiver?.idle(until: end), !late.isEmpty {
          counters.add(late.counters)
          arrivals.append(late, batch: batch)
        }
      case .stall, .hangUp, .rename:
        wire.hold(until: end)
      }
      now = end
    }
    counters.dropped += arrivals.overrun(beyond: receiveLimit, by: now)
  }

  /// Hangs up if a cut has begun that closes the device. All bytes in transit are lost.
  private mutating func note(_ kind: Cut.Kind?) {
    let wasGone = isGone
    isGone = kind?.closesDevice ?? false
    guard isGone, !wasGone else { return }
    hangUps += 1
    if kind == .rename { renames += 1 }
    counters.dropped += waiting.count + arrivals.count
    waiting.removeAll()
    arrivals.removeAll()
    wire.abandon()
    receiver?.reset()
  }
}
