import HTTP2Session
import LineLayer
import NIOCore

extension HTTP2Configuration {
  /// What suits a channel. A session over a line watches over its own liveness, and no byte of a slow line is to be spent on
  /// measuring what is known: windows there
  /// grow to what they need at the first byte, and PING is for its owner only.
  /// - Parameter watchesLine: a line counts as dead as soon as another link would, because there is another way. What it
  ///   needs to carry a PING and its answer behind a frame each is not counted.
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
  /// How long that many bytes are on the wire.
  func time(for bytes: Int64) -> TimeAmount {
    .nanoseconds(nominalRate.map { bytes * 1_000_000_000 / Int64(max($0, 1)) } ?? 0)
  }
}
