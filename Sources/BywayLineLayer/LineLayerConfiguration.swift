/// The configuration of one end of a line. Times are in nanoseconds.
package struct LineLayerConfiguration: Equatable, Sendable {
  /// The rate of the line in each direction: a tenth of the baud rate for 8N1. `nil` for a line without pacing: a USB gadget whose rate has
  /// no meaning, or a stream that a remote terminal server paces.
  package var bytesPerSecond: Int?
  /// The largest payload of a received frame in bytes.
  package var largestPayload = 2048
  /// The receive window in bytes: data that the reader has not consumed, and data after a gap.
  package var window = 128 * 1024
  /// The number of strengths that this end corrects, from the weakest on; 0 for none.
  package var correction = Strength.count
  /// The streams that a listener accepts.
  package var streams = StreamOffer.none
  /// The time that an acknowledgement waits for a frame that can carry it.
  package var acknowledgementDelay: UInt64 = 10_000_000
  /// The silence after which a dialer polls the listener. A listener waits 2.5 times as long.
  package var keepAlive: UInt64 = 10_000_000_000
  /// The time limit of a dialer's OPEN, and of the wait for acknowledgements after an owner has closed the session.
  package var patience: UInt64 = 5_000_000_000
  /// The time that a session waits for a line that was unplugged, or for a peer that does not answer.
  package var grace: UInt64 = 30_000_000_000
  /// The time after a missing answer until the line counts as interrupted.
  package var silence: UInt64 = 3_000_000_000

  /// The payload in bytes that every end accepts.
  static let leastPayload = 64
  /// The bytes that a dialer may send before it knows the window of the listener. So each window has at least this size.
  static let leastWindow = 4096
  /// A day, so that sums of times do not overflow.
  private static let longestTime: UInt64 = 86_400_000_000_000

  package static let defaults = LineLayerConfiguration()

  package init() {}

  /// Checks the fields, and names the first invalid one in its error.
  package func check() throws(LineLayerConfigurationError) {
    if let bytesPerSecond, bytesPerSecond < 10 { throw .tooSmall("bytesPerSecond", least: 10) }
    if largestPayload < Self.leastPayload { throw .tooSmall("largestPayload", least: Self.leastPayload) }
    if largestPayload > 65_535 { throw .tooLarge("largestPayload", most: 65_535) }
    let leastWindow = max(largestPayload, Self.leastWindow)
    if window < leastWindow { throw .tooSmall("window", least: leastWindow) }
    let largestWindow = Unit.largestWindow * Unit.size
    if window > largestWindow { throw .tooLarge("window", most: largestWindow) }
    if correction < 0 { throw .tooSmall("correction", least: 0) }
    if correction > Strength.count { throw .tooLarge("correction", most: Strength.count) }
    if keepAlive == 0 { throw .tooSmall("keepAlive", least: 1) }
    if patience == 0 { throw .tooSmall("patience", least: 1) }
    if acknowledgementDelay > Self.longestTime { throw .tooLarge("acknowledgementDelay", most: Int(Self.longestTime)) }
    if keepAlive > Self.longestTime { throw .tooLarge("keepAlive", most: Int(Self.longestTime)) }
    if patience > Self.longestTime { throw .tooLarge("patience", most: Int(Self.longestTime)) }
    if grace == 0 { throw .tooSmall("grace", least: 1) }
    if grace > Self.longestTime { throw .tooLarge("grace", most: Int(Self.longestTime)) }
    if silence > Self.longestTime { throw .tooLarge("silence", most: Int(Self.longestTime)) }
  }
}

package enum LineLayerConfigurationError: Error, Equatable {
  case tooSmall(String, least: Int)
  case tooLarge(String, most: Int)
}
