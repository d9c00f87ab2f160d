/// Both directions of a line in virtual time, for tests without waiting: a second on the line takes only the time to copy its bytes.
///
///     var link = VirtualLink(LineConfiguration(faults: [BitFlips(rate: 1e-5)]), seed: 7)
///     link.send([1, 2, 3], from: .a)
///     link.advance(by: .milliseconds(1))
///     link.receive(at: .b)
public struct VirtualLink: Sendable {
  /// An end of the line.
  public enum End: Sendable, Hashable, CaseIterable {
    /// The first end.
    case a
    /// The second end.
    case b

    /// The opposite end.
    public var other: End { self == .a ? .b : .a }
  }

  /// The nanoseconds since the creation of the line.
  public private(set) var now: UInt64 = 0
  private var fromA: EmulatedLine
  private var fromB: EmulatedLine

  /// A line without any bytes yet.
  /// - Parameters:
  /// - configuration: the configuration of both directions, or of the one from a to b.
  /// - back: the configuration of the direction from b to a, if it differs.
  /// - seed: the seed of all random decisions. The same seed gives the same line.
  public init(_ configuration: LineConfiguration, back: LineConfiguration? = nil, seed: UInt64) {
    let random = SplitMix64(seed: seed)
    fromA = EmulatedLine(configuration, seed: random.stream(named: "from a").seed)
    fromB = EmulatedLine(back ?? configuration, seed: random.stream(named: "from b").seed)
  }

  /// Advances both directions to a later time. An earlier one is ignored.
  public mutating func advance(to time: UInt64) {
    now = max(now, time)
    fromA.advance(to: now)
    fromB.advance(to: now)
  }

  /// Advances by a duration.
  public mutating func advance(by duration: Duration) {
    advance(to: now + duration.nanoseconds)
  }

  /// Hands bytes to an end's transmitter.
  /// - Returns: the number of accepted bytes. Offer the rest again later. It is 0 while the device is gone.
  @discardableResult
  public mutating func send(_ bytes: some Collection<UInt8>, from end: End) -> Int {
    end == .a ? fromA.send(bytes, at: now) : fromB.send(bytes, at: now)
  }

  /// Returns how many bytes an end's transmitter accepts now.
  public mutating func acceptable(from end: End) -> Int {
    end == .a ? fromA.acceptable(at: now) : fromB.acceptable(at: now)
  }

  /// Takes the bytes that have arrived at this end. If its device is gone, there are none, and arriving bytes are lost.
  public mutating func receive(at end: End, atMost limit: Int = .max) -> [UInt8] {
    let isGone = cut(from: end)?.closesDevice ?? false
    switch (end, isGone) {
    case (.a, false): return fromB.receive(at: now, atMost: limit)
    case (.b, false): return fromA.receive(at: now, atMost: limit)
    case (.a, true): fromB.discard(at: now)
    case (.b, true): fromA.discard(at: now)
    }
    return []
  }

  /// Sets the rates at which the ends send and read, in bits per second. If they differ, wrong bytes arrive.
  package mutating func setRates(_ a: LineRates, _ b: LineRates) {
    fromA.setRates(sender: a.output, reader: b.input, at: now)
    fromB.setRates(sender: b.output, reader: a.input, at: now)
  }

  /// The next time at which bytes may arrive, or a cut begins or ends as scheduled. `nil` for never.
  public var nextEvent: UInt64? {
    [fromA.nextArrival, fromB.nextArrival, nextCutChange].compactMap(\.self).min()
  }

  package var nextCutChange: UInt64? {
    [fromA.nextCutChange, fromB.nextCutChange].compactMap(\.self).min()
  }

  /// Returns the cut in effect on what this end sends.
  public mutating func cut(from end: End) -> Cut.Kind? {
    end == .a ? fromA.cut(at: now) : fromB.cut(at: now)
  }

  /// Cuts both directions until ``restore()``.
  ///
  /// - Parameters:
  /// - kind: the effect on the bytes.
  /// - end: the end whose device is gone; `nil` for both. At the other end, the line then loses all bytes.
  public mutating func cut(_ kind: Cut.Kind, at end: End? = nil) {
    fromA.cut(kind.seen(by: .a, of: end), at: now)
    fromB.cut(kind.seen(by: .b, of: end), at: now)
    // The bytes that had arrived at a device are lost with it.
    for end in End.allCases where cut(from: end)?.closesDevice == true { _ = receive(at: end) }
  }

  /// Ends all cuts that have begun, at both ends.
  public mutating func restore() {
    fromA.restore(at: now)
    fromB.restore(at: now)
  }

  /// Returns the counters of the direction that begins at this end.
  public func counters(from end: End) -> LineCounters {
    self[from: end].counters
  }

  package subscript(from end: End) -> EmulatedLine {
    end == .a ? fromA : fromB
  }
}

extension Cut.Kind {
  /// Returns the kind of cut that one end sees when the device of another is removed.
  package func seen(by end: VirtualLink.End, of affected: VirtualLink.End?) -> Cut.Kind {
    closesDevice && affected.map { $0 != end } ?? false ? .lose : self
  }
}
