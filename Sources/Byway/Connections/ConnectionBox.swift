import LineLayer
import NIOCore

/// A served connection for use from other threads; keeps it alive while its channel is open.
///
/// `@unchecked Sendable`: `connection` is used on the channel's event loop only.
final class ConnectionBox: @unchecked Sendable {
  let channel: any Channel
  let start = NIODeadline.now()
  private var connection: (any ServedConnection)?

  init(_ channel: any Channel) {
    self.channel = channel
  }

  /// Stores the connection. On the channel's event loop.
  func hold(_ connection: any ServedConnection) {
    self.connection = connection
    channel.closeFuture.assumeIsolated().whenComplete { _ in self.connection = nil }
  }

  /// Returns its current state, as a link to that address.
  func link(at address: LinkAddress) async -> ServedLink {
    let none = ServedLink(address: address, since: start, line: nil, interruption: nil)
    guard let stream = channel as? StreamChannel else { return none }
    return
      (try? await stream.eventLoop.submit { [start] in
        ServedLink(address: address, since: start, line: stream.lineStatistics, interruption: stream.interruption)
      }.get()) ?? none
  }

  /// Since when it only waits for its client; `nil` while it has work. On the channel's event loop.
  var idleSince: NIODeadline? { connection?.idleSince }

  /// Closes it to make room for others. On the channel's event loop.
  func closeIdle() {
    connection?.closeIdle()
  }

  func ended() async {
    try? await channel.closeFuture.get()
  }

  /// Lets the running exchanges finish by the deadline.
  /// - Returns: how many of them were cut off.
  func drain(by deadline: NIODeadline) async -> Int {
    let cut = channel.eventLoop.scheduleTask(deadline: deadline) { () -> Int in
      let running = self.connection?.runningExchanges ?? 0
      self.channel.close(promise: nil)
      return running
    }
    channel.eventLoop.execute { self.connection?.drain() }
    await ended()
    cut.cancel()
    return (try? await cut.futureResult.get()) ?? 0
  }
}
