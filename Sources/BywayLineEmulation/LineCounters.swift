/// Counters of one direction. At each moment `sent + foreign + inserted + duplicated = delivered + dropped + inFlight`.
public struct LineCounters: Sendable, Hashable {
  /// Bytes from the sender.
  public var sent = 0
  /// Bytes of another program on the same wire, such as a boot log.
  public var foreign = 0
  /// Bytes that noise has inserted.
  public var inserted = 0
  /// Bytes that were delivered a second time.
  public var duplicated = 0
  /// Bytes that were lost to noise, to a cut, or because the reader was too slow.
  public var dropped = 0
  /// Bytes that were delivered to the reader.
  public var delivered = 0
  /// Bits that arrived inverted.
  public var flippedBits = 0
  /// Bytes without a stop bit at the expected time, because the rates of reader and sender differ.
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
