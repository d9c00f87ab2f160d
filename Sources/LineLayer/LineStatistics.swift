/// What has happened on a line since it was made. Counters only grow.
public struct LineStatistics: Equatable, Sendable {
  /// Bytes on the wire.
  public var sentBytes: UInt64 = 0
  public var receivedBytes: UInt64 = 0
  /// Bytes of the streams, each counted once.
  public var sentPayload: UInt64 = 0
  public var receivedPayload: UInt64 = 0
  public var sentFrames: UInt64 = 0
  public var receivedFrames: UInt64 = 0
  /// Frames that had to be sent again.
  public var repeatedFrames: UInt64 = 0
  /// Runs of bytes that were not an intact frame: damaged, of another session, or foreign to the line.
  public var damagedFrames: UInt64 = 0
  /// Frames that were here already.
  public var duplicateFrames: UInt64 = 0
  /// Intact frames that broke the protocol, and were not obeyed.
  public var refusedFrames: UInt64 = 0
  /// Nanoseconds, without the time on the wire. `nil` until measured.
  public var roundTrip: UInt64?
  /// Bytes in a second that the line seems to carry, and that it should. `nil` where it is not paced.
  public var rate: Int?
  public var nominalRate: Int?
  /// Bytes of payload that a frame gets now.
  public var framePayload = 0
  /// Losses in a million bytes that were sent, estimated from the latest.
  public var lossesPerMillionBytes = 0

  public init() {}
}
