import NIOCore
import NIOPosix

/// The client of one connection to a broker.
protocol BrokerClient: AnyObject, Sendable {
  /// Executes a command. Any thread may call it.
  func execute(_ command: BrokerThread.Command)
  /// The owner has handled a message of that cost. Any thread may call it.
  func handled(_ cost: Int)
}

/// The steps of a connection to a broker. Tests replace them, to run in virtual time.
struct BrokerAccess: Sendable {
  /// Finds out whether the broker accepts connections. The library connects with a blocking call that has no time limit, so this comes first.
  var reach: @Sendable (BrokerSettings, any EventLoop, _ limit: TimeAmount) -> EventLoopFuture<Void>
  /// Starts a client, which connects.
  var start: @Sendable (BrokerSettings, BrokerThread.Handlers) throws -> any BrokerClient

  /// Access over TCP with libmosquitto.
  static let library = BrokerAccess(
    reach: { settings, eventLoop, limit in
      ClientBootstrap(group: eventLoop).connectTimeout(limit)
        .connect(host: settings.host, port: settings.port)
        .flatMap { channel in channel.close() }
    },
    start: { try BrokerThread.start($0, $1) })
}
