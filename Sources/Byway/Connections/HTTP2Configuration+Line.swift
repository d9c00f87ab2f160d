import BywayHTTP2Session
import BywayLineLayer
import NIOCore

extension HTTP2Configuration {
  /// Returns the configuration for a channel. A line's session monitors itself, and a slow line spends no bytes on measuring known facts:
  /// windows grow to their size at the first byte, and PING is for its owner only.
  /// - Parameter watchesLine: whether a line counts as dead as soon as another link would, because there is another one. The extra time
  ///   covers a PING and its answer, but not a frame in front of each.
  func over(_ channel: any Channel, watchesLine: Bool = false) -> HTTP2Configuration {
    guard let line = (channel as? StreamChannel)?.lineStatistics else { return self }
    var configuration = self
    if watchesLine {
      configuration.timeouts.pingAnswer = configuration.timeouts.pingAnswer + line.time(for: 1024)
    } else {
      configuration.timeouts.pingInterval = nil
    }
    configuration.timeouts.idlePingInterval = nil
    configuration.windows.maximum = configuration.windows.usual
    configuration.windows.isEager = false
    configuration.tellsDepartures = true
    configuration.streams.maximumConcurrent = min(configuration.streams.maximumConcurrent, 256)
    return configuration
  }
}

extension LineStatistics {
  /// Returns how long that many bytes take on the wire.
  func time(for bytes: Int64) -> TimeAmount {
    .nanoseconds(nominalRate.map { bytes * 1_000_000_000 / Int64(max($0, 1)) } ?? 0)
  }
}
