import BywayLineLayer
import NIOCore

/// A served connection for use from other threads; keeps it alive while its channel is open.
///
/// `@unchecked Sendable`: its variables are used on the channel's event loop only.
final class ConnectionBox: @unchecked Sendable {
  let channel: any Channel
  let start = NIODeadline.now()
  private var connection: (any ServedConnection)?
  private var cutExchanges = 0

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

  /// Why it has ended. On the channel's event loop, in the callbacks for the channel's end that were added before ``hold(_:)``.
  var farewell: Farewell? { connection?.farewell }

  /// Closes it to make room for others. On the channel's event loop.
  func closeIdle() {
    connection?.closeIdle()
  }

  func ended() async {
    try? await channel.closeFuture.get()
  }

  /// Lets the running exchanges finish by the deadline. Then ends the connection, even if a session waits for its line.
  /// - Returns: how many of them were cut off.
  func drain(by deadline: NIODeadline) async -> Int {
    (try? await channel.eventLoop.flatSubmit { self.drained(by: deadline) }.get()) ?? 0
  }

  /// The same, on the channel's event loop.
  func drained(by deadline: NIODeadline) -> EventLoopFuture<Int> {
    let timer = channel.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.cut() }
    connection?.drain()
    return channel.closeFuture.assumeIsolated().map { _ in
      timer.cancel()
      return self.cutExchanges
    }.nonisolated()
  }

  private func cut() {
    cutExchanges = connection?.runningExchanges ?? 0
    // A stream that is already being closed may wait for its line.
    (channel as? StreamChannel)?.abort()
    channel.close(promise: nil)
  }
}
