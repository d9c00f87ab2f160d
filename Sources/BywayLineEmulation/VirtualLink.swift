/// Both directions of a line in virtual time, for tests that need no waiting: a second of a line takes as long as its bytes
/// take to copy.
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

    /// The end across.
    public var other: End { self == .a ? .b : .a }
  }

  /// Nanoseconds since the line began.
  public private(set) var now: UInt64 = 0
  private var fromA: EmulatedLine
  private var fromB: EmulatedLine

  /// A line on which nothing has happened yet.
  /// - Parameters:
  ///   - configuration: of both directions, or of the one from a to b.
  ///   - back: of the one from b to a, where it differs.
  ///   - seed: of every random decision; the same one gives the same line.
  public init(_ configuration: LineConfiguration, back: LineConfiguration? = nil, seed: UInt64) {
    let random = SplitMix64(seed: seed)
    fromA = EmulatedLine(configuration, seed: random.stream(named: "from a").seed)
    fromB = EmulatedLine(back ?? configuration, seed: random.stream(named: "from b").seed)
  }

  /// Goes on to a later time; an earlier one is ignored. Both directions do, so that whatever is looked at next is of that
  /// time, a hang-up as well as a byte.
  public mutating func advance(to time: UInt64) {
    now = max(now, time)
    fromA.advance(to: now)
    fromB.advance(to: now)
  }

  /// Goes on by so long.
  public mutating func advance(by duration: Duration) {
    advance(to: now + duration.nanoseconds)
  }

  /// Hands bytes to an end's transmitter.
  /// - Returns: how many it took; the rest is to be offered again later. None while the device is gone.
  @discardableResult
  public mutating func send(_ bytes: some Collection<UInt8>, from end: End) -> Int {
    end == .a ? fromA.send(bytes, at: now) : fromB.send(bytes, at: now)
  }

  /// How many bytes an end's transmitter takes now.
  public mutating func acceptable(from end: End) -> Int {
    end == .a ? fromA.acceptable(at: now) : fromB.acceptable(at: now)
  }

  /// Takes the bytes that have arrived at this end. If its device is gone there are none, and what arrives is lost.
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

  /// Sets the rates at which the ends send and read, in bits per second. Bytes arrive as others where they differ.
  package mutating func setRates(_ a: LineRates, _ b: LineRates) {
    fromA.setRates(sender: a.output, reader: b.input, at: now)
    fromB.setRates(sender: b.output, reader: a.input, at: now)
  }

  /// The next time at which bytes may arrive or a cut begins or ends by itself. `nil` for never.
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
  ///   - kind: what becomes of the bytes.
  ///   - end: where the device is gone; `nil` for at both. To the other end, that is a line which loses everything.
  public mutating func cut(_ kind: Cut.Kind, at end: End? = nil) {
    fromA.cut(kind.seen(by: .a, of: end), at: now)
    fromB.cut(kind.seen(by: .b, of: end), at: now)
    // The bytes that had arrived at a device are lost with it.
    for end in End.allCases where cut(from: end)?.closesDevice == true { _ = receive(at: end) }
  }

  /// Ends every cut that has begun, at both ends.
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
  /// Returns what one end sees of a cut that removes the device of another.
  package func seen(by end: VirtualLink.End, of affected: VirtualLink.End?) -> Cut.Kind {
    closesDevice && affected.map { $0 != end } ?? false ? .lose : self
  }
}
