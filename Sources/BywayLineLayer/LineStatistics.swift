/// Counters of a line since it was created. They only grow.
package struct LineStatistics: Equatable, Sendable {
  /// Bytes on the wire.
  package var sentBytes: UInt64 = 0
  package var receivedBytes: UInt64 = 0
  /// Bytes of the streams, each counted once.
  package var sentPayload: UInt64 = 0
  package var receivedPayload: UInt64 = 0
  package var sentFrames: UInt64 = 0
  package var receivedFrames: UInt64 = 0
  /// Frames that had to be sent again.
  package var repeatedFrames: UInt64 = 0
  /// Runs of bytes that were not an intact frame: damaged, of another session, or foreign to the line.
  package var damagedFrames: UInt64 = 0
  /// Bytes that arrived wrong and were put right.
  package var correctedBytes: UInt64 = 0
  /// Bytes of those runs.
  package var foreignBytes: UInt64 = 0
  /// The text among them.
  package var foreignText = ForeignText()
  /// A count of the times that a session has gone on after its line was lost or silent.
  package var resumes: UInt64 = 0
  /// Frames that were here already.
  package var duplicateFrames: UInt64 = 0
  /// Intact frames that broke the protocol, and were not obeyed.
  package var refusedFrames: UInt64 = 0
  /// Nanoseconds, without the time on the wire. `nil` until measured.
  package var roundTrip: UInt64?
  /// Bytes in a second that the line seems to carry, and that it should. `nil` where it is not paced.
  package var rate: Int?
  package var nominalRate: Int?
  /// Bytes of payload that a frame gets now.
  package var framePayload = 0
  /// Wrong bytes in a code word that frames sent now survive, or did when the latest session ended; 0 where they bear no correction.
  package var correctableErrors = 0

  package init() {}

  /// `nil` while nothing was carried.
  package var errors: LineErrors? {
    LineErrors(count: damagedFrames &+ repeatedFrames, in: sentBytes &+ receivedBytes)
  }
}
