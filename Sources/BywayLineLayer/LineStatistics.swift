/// Counters of a line since its creation. They only grow.
package struct LineStatistics: Equatable, Sendable {
  /// The bytes on the wire in each direction.
  package var sentBytes: UInt64 = 0
  package var receivedBytes: UInt64 = 0
  /// The bytes of the streams, without retransmissions.
  package var sentPayload: UInt64 = 0
  package var receivedPayload: UInt64 = 0
  package var sentFrames: UInt64 = 0
  package var receivedFrames: UInt64 = 0
  /// Frames that were sent again.
  package var repeatedFrames: UInt64 = 0
  /// Runs of bytes that were not an intact frame: damaged, of another session, or not of this protocol.
  package var damagedFrames: UInt64 = 0
  /// Wrong bytes that were corrected.
  package var correctedBytes: UInt64 = 0
  /// The bytes of the runs in ``damagedFrames``.
  package var foreignBytes: UInt64 = 0
  /// The plain text in those runs.
  package var foreignText = ForeignText()
  /// The number of times that a session continued after an interruption.
  package var resumes: UInt64 = 0
  /// Frames that had already arrived.
  package var duplicateFrames: UInt64 = 0
  /// Intact frames that broke the protocol and were ignored.
  package var refusedFrames: UInt64 = 0
  /// The round-trip time in nanoseconds, without the time on the wire; `nil` before the first measurement.
  package var roundTrip: UInt64?
  /// The measured and the nominal rate in bytes per second; `nil` if the line is not paced.
  package var rate: Int?
  package var nominalRate: Int?
  /// The present payload of a frame in bytes.
  package var framePayload = 0
  /// The wrong bytes in a code word that can be corrected in frames sent now, or at the end of the latest session; 0 without correction.
  package var correctableErrors = 0

  package init() {}

  /// The errors; `nil` before any bytes.
  package var errors: LineErrors? {
    LineErrors(count: damagedFrames &+ repeatedFrames, in: sentBytes &+ receivedBytes)
  }
}
