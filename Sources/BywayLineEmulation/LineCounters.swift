/// Counters of one direction. At any moment `sent + foreign + inserted + duplicated = delivered + dropped + inFlight`.
public struct LineCounters: Sendable, Hashable {
  /// Taken from the sender.
  public var sent = 0
  /// Bytes of another writer on the same wire: a boot log.
  public var foreign = 0
  /// Out of nothing, by noise.
  public var inserted = 0
  /// Delivered a second time, by a register that was read twice.
  public var duplicated = 0
  /// Lost: by noise, by a cut, or because the reader was too slow.
  public var dropped = 0
  /// Handed to the reader.
  public var delivered = 0
  /// Bits that arrive the wrong way round.
  public var flippedBits = 0
  /// Bytes without a stop bit where the reader expected it, because its rate is not the sender's.
  public var framingErrors = 0
  /// Bytes in the transmit queue, on the wire, or waiting for the reader.
  public var inFlight: Int { sent + foreign + inserted + duplicated - dropped - delivered }

  package init() {}

  mutating func add(_ other: LineCounters) {
    sent += other.sent
    foreign += other.foreign
    inserted += other.inserted
    duplicated += other.duplicated
    dropped += other.dropped
    delivered += other.delivered
    flippedBits += other.flippedBits
    framingErrors += other.framingErrors
  }
}
