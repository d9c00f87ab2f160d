import HTTP2Session
import NIOCore

extension HTTP2Configuration {
  /// What suits a channel. A session over a line watches over its own liveness, and no byte of a slow line is to be spent on
  /// measuring what is known: windows there
  /// grow to what they need at the first byte, and PING is for its owner only.
  func over(_ channel: any Channel) -> HTTP2Configuration {
    guard (channel as? StreamChannel)?.lineStatistics != nil else { return self }
    var configuration = self
    configuration.timeouts.pingInterval = nil
    configuration.windows.maximum = configuration.windows.usual
    configuration.windows.isEager = false
    return configuration
  }
}
