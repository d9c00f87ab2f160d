/// How one end of a line behaves. Times are in nanoseconds.
package struct LineLayerConfiguration: Equatable, Sendable {
  /// The rate of the line in each direction; at 8N1 a tenth of its baud rate. `nil` for a line that is not paced: a gadget whose rate
  /// means nothing, a stream that a remote terminal server paces.
  package var bytesPerSecond: Int?
  /// Bytes of payload that this end takes in one frame.
  package var largestPayload = 2048
  /// Bytes of payload that this end holds for its reader, and while something before them is missing.
  package var window = 128 * 1024
  /// The strongest correction that this end mends frames with, and how many there are up to that; 0 for none.
  package var correction = Strength.count
  /// The streams that a listener takes.
  package var streams = StreamOffer.none
  /// How long an acknowledgement waits for company.
  package var acknowledgementDelay: UInt64 = 10_000_000
  /// After how much silence a dialer asks whether the other end lives. A listener does after two and a half times that.
  package var keepAlive: UInt64 = 10_000_000_000
  /// The time that a dialer's opening may take, and for which an end that closes a session waits for news of what it has sent.
  package var patience: UInt64 = 5_000_000_000
  /// The time that a session outlives its line: one that was unplugged, and one on which the peer answers nothing.
  package var grace: UInt64 = 30_000_000_000
  /// The time beyond that of a usual answer after which an end that hears none says that its line is interrupted.
  package var silence: UInt64 = 3_000_000_000

  /// Bytes of payload in one frame that every end takes.
  static let leastPayload = 64
  /// Bytes that a dialer may send before it knows the listener's window, so that every window is at least that.
  static let leastWindow = 4096
  /// A day. Sums of times must not overflow.
  private static let longestTime: UInt64 = 86_400_000_000_000

  package static let defaults = LineLayerConfiguration()

  package init() {}

  /// Says which field cannot be used, and why.
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
