import NIOCore

extension HTTP2Configuration {
  /// A value that cannot be used.
  package struct Invalid: Error, Sendable, Equatable, CustomStringConvertible {
    /// The name as written: `windows.initial`.
    package var field: String
    package var description: String
  }

  /// - Throws: ``Invalid`` for the first field that is out of range.
  package func check() throws(Invalid) {
    // The protocol's own ranges: RFC 9113 §6.5.2 and §6.9.1.
    try check("streams.maximumConcurrent", streams.maximumConcurrent, 1...1_000_000)
    try check("streams.maximumHeaderListSize", streams.maximumHeaderListSize, 1024...16 << 20)
    try check("streams.heldHeaderSize", streams.heldHeaderSize, streams.maximumHeaderListSize...Int.max)
    try check("streams.informationalResponses", streams.informationalResponses, 0...1 << 14)
    try check("streams.maximumFrameSize", streams.maximumFrameSize, 1 << 14...1 << 24 - 1)
    try check("streams.headerTableSize", streams.headerTableSize, 0...1 << 20)
    try check("windows.initial", windows.initial, 1024...1 << 31 - 1)
    try check("windows.usual", windows.usual, windows.initial...1 << 31 - 1)
    try check("windows.maximum", windows.maximum, max(windows.usual, 65_535)...1 << 31 - 1)
    try check("windows.growth", windows.growth, 0...Int.max)
    try check("timeouts.settings", timeouts.settings)
    try check("timeouts.headerBlock", timeouts.headerBlock)
    try check("timeouts.idle", timeouts.idle)
    try check("timeouts.pingInterval", timeouts.pingInterval)
    try check("timeouts.quietPingInterval", timeouts.quietPingInterval)
    try check("timeouts.idlePingInterval", timeouts.idlePingInterval)
    try check("timeouts.pingAnswer", timeouts.pingAnswer)
    try check("timeouts.pingDelay", timeouts.pingDelay)
    try check("floods.resets", floods.resets)
    try check("floods.controlFrames", floods.controlFrames)
    try check("floods.windowUpdates", floods.windowUpdates)
    try check("floods.tinyData", floods.tinyData)
  }

  private func check(_ field: String, _ value: Int, _ range: ClosedRange<Int>) throws(Invalid) {
    if range.contains(value) { return }
    throw Invalid(
      field: field,
      description: "\(field) is \(value); it must be from \(range.lowerBound) to \(range.upperBound).")
  }

  private func check(_ field: String, _ time: TimeAmount?) throws(Invalid) {
    guard let time, time <= .nanoseconds(0) else { return }
    throw Invalid(field: field, description: "\(field) is \(time.nanoseconds) ns; it must be more than zero.")
  }

  private func check(_ field: String, _ limit: RateLimit) throws(Invalid) {
    try check(field + ".burst", limit.burst, 1...1_000_000_000)
    try check(field + ".perSecond", limit.perSecond, 1...1_000_000_000)
  }
}
