package import Byway
package import Logging
package import NIOCore
import NIOPosix

/// A server that answers requests from this machine's programs with a function, over HTTP/1.1 and HTTP/2: a daemon's control
/// socket, its metrics.
///
/// If web pages could be among the clients, it rejects them as a proxy rejects foreign pages. Safe on any thread.
package final class LocalServer: Sendable {
  /// More than people and their programs need at once.
  private static let connectionLimit = 32
  /// The time that a connection has for a request while others wait. Requests of this machine's programs arrive with their connections, so
  /// clients that only connect keep out no others.
  private static let shortestIdleness = TimeAmount.milliseconds(10)
  /// The maximum number of streams of one HTTP/2 connection.
  private static let streamLimit = 16
  /// The limit for receiving the rest of a request's head: the client is on this machine.
  private static let headPatience = TimeAmount.seconds(5)

  private let acceptor: Acceptor

  /// The address as bound.
  package var address: LinkAddress { acceptor.addresses[0] }

  /// - Parameters:
  ///   - isForAnyone: whether it answers under any name, to any client that can reach it.
  ///   - patience: how long a client may read nothing of a response before the response is ended.
  ///   - advice: an alternative for clients that used a name that is not this machine's own; half a sentence.
  /// - Throws: `BywayError` if it cannot listen on the address.
  package static func start(
    on listen: Link, isForAnyone: Bool = false, patience: TimeAmount = .seconds(30), advice: String? = nil,
    logger: Logger,
    respond: @escaping @Sendable (Request) async throws -> Response
  ) async throws -> LocalServer {
    let rules = try IngressRules(hosts: HostRules(names: []), pages: PageRules())
    let hop = Hop.pseudonym("byway")
    let group = MultiThreadedEventLoopGroup.singleton.any()
    let acceptor = try await Acceptor.start(
      on: [listen], group: group, limit: ConnectionLimit(connectionLimit, shortestIdleness: shortestIdleness),
      logger: logger
    ) { channel, listen, logger in
      let handler = TimedReading(
        patience, on: channel.eventLoop,
        before: AsyncExchangeHandler(on: LoopExecutor(channel.eventLoop), respond))
      var configuration = ServerConfiguration(hop: hop, logger: logger)
      configuration.http2.streams.maximumConcurrent = streamLimit
      configuration.timeouts.head = headPatience
      configuration.timeouts.unread = patience
      let isUnguarded = isForAnyone || listen.transport.audience(of: listen.address) == .programs
      return try IngressConnection.start(
        on: channel,
        handler: isUnguarded
          ? handler : GuardedHandler(rules, port: channel.localAddress?.port, advice: advice, before: handler),
        configuration: configuration)
    }
    return LocalServer(acceptor)
  }

  private init(_ acceptor: Acceptor) {
    self.acceptor = acceptor
  }

  package func stop() async {
    await acceptor.stop(within: .seconds(1))
  }
}

/// Applies a proxy's rules to each request. Lives on its connection's event loop.
private final class GuardedHandler: ExchangeHandler {
  private let rules: IngressRules
  private let port: Int?
  private let misdirected: BywayError
  private let next: any ExchangeHandler

  init(_ rules: IngressRules, port: Int?, advice: String?, before next: any ExchangeHandler) {
    self.rules = rules
    self.port = port
    let others = advice.map { ", or \($0)" } ?? ""
    misdirected = BywayError(
      .misdirected, "This server answers only as 127.0.0.1, [::1] or localhost: use one of these\(others).",
      processing: .none)
    self.next = next
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    var request = request
    do throws(BywayError) {
      // This server is no proxy to other servers.
      if request.isAbsolute { throw misdirected }
      try rules.admit(&request, port: port)
    } catch {
      // The message about a proxy's names does not apply here.
      sink.fail(error.code == .misdirected ? misdirected : error)
      return DiscardingRequestSink()
    }
    return next.begin(request, respondingTo: sink)
  }
}
