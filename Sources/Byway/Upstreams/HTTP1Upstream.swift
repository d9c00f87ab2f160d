package import HTTP1Session
package import NIOCore

/// Sends exchanges to an HTTP/1.1 server over a pool of kept-alive connections.
///
/// An idle connection is taken last in, first out, so that a quiet pool shrinks; it is checked before it is used again.
/// Lives on one event loop.
package final class HTTP1Upstream: ExchangeHandler {
  package struct Configuration: Sendable {
    /// Open connections at once; further exchanges wait for one, as long as for a new one to open.
    package var maximumConnections = 256
    package var maximumWaiting = 1024
    /// A connection unused for that long is closed.
    package var idleTimeout = TimeAmount.seconds(50)
    /// A server may close an idle connection just as a request leaves. One that cannot be sent twice takes only a
    /// connection that was in use that recently.
    package var freshness = TimeAmount.milliseconds(300)
    package var connectTimeout = TimeAmount.seconds(10)
    /// From the end of the request to the response's head.
    package var responseTimeout = TimeAmount.seconds(60)
    /// Of silence within a response's body whose length was declared; `nil`: no limit. A body without is as long as its
    /// sender likes: events, a log that is followed, a tunnel. Those are silent for hours, and nothing is wrong.
    package var bodyTimeout: TimeAmount? = .minutes(5)
    /// How long a server may go on with a WebSocket whose client has ended its direction, before it is told so. Whoever
    /// speaks WebSocket has said it in a close frame, and is about to answer that; many servers, and most with TLS, answer
    /// nothing any more to half of a connection.
    package var webSocketClosing = TimeAmount.seconds(10)
    package var farEnd = FarEnd.origin
    /// Requests carry their target in absolute form, because a proxy stands next.
    var isProxy: Bool { farEnd == .proxy }
    package var http1 = HTTP1Configuration.defaults

    package static let defaults = Configuration()
  }

  let eventLoop: any EventLoop
  let dialer: Dialer
  let configuration: Configuration
  let rules: UpstreamRules
  private var idle: [HTTP1ClientConnection] = []
  private var waiting = CircularBuffer<HTTP1Exchange>()
  private var connectionCount = 0
  private var isShutDown = false
  private lazy var waitTimer = LazyTimer(on: eventLoop) { [unowned self] in waitEnded() }

  package init(dialer: Dialer, on eventLoop: any EventLoop, hop: String?, configuration: Configuration = .defaults) {
    self.dialer = dialer
    self.eventLoop = eventLoop
    self.configuration = configuration
    rules = UpstreamRules(farEnd: configuration.farEnd, via: hop.map { "1.1 \($0)" })
  }

  package func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    let exchange = HTTP1Exchange(request, sink: sink, upstream: self)
    start(exchange)
    return exchange
  }

  /// Closes the idle connections, whose end it reports; the others when their exchanges end.
  @discardableResult
  package func shutDown() -> EventLoopFuture<Void> {
    isShutDown = true
    let closed = idle.map { $0.close() }
    idle = []
    return .andAllComplete(closed, on: eventLoop)
  }

  // MARK: For exchanges and connections

  func start(_ exchange: HTTP1Exchange) {
    while let connection = idle.popLast() {
      guard connection.isUsable else {
        connection.close()
        continue
      }
      guard RetryRules.isIdempotent(exchange.head.fields) || connection.idleSince + configuration.freshness > .now()
      else {
        // The others have been idle for longer still.
        idle.append(connection)
        break
      }
      exchange.send(on: connection)
      return
    }
    if connectionCount < configuration.maximumConnections { dial(for: exchange) } else { wait(exchange) }
  }

  func connectionBecameIdle(_ connection: HTTP1ClientConnection) {
    if let exchange = nextWaiting() {
      exchange.send(on: connection)
    } else if isShutDown {
      connection.close()
    } else {
      idle.append(connection)
    }
  }

  func connectionEnded(_ connection: HTTP1ClientConnection) {
    connectionCount -= 1
    idle.removeAll { $0 === connection }
    if let exchange = nextWaiting() { dial(for: exchange) }
  }

  // MARK: Waiting

  private func wait(_ exchange: HTTP1Exchange) {
    guard waiting.count < configuration.maximumWaiting else {
      let message = "Too many requests wait for \(dialer.name) already."
      exchange.fail(BywayError(.refused, message, processing: .none))
      return
    }
    exchange.waitEnd = min(.now() + configuration.connectTimeout, exchange.deadline ?? .distantFuture)
    waiting.append(exchange)
    waitTimer.set(waiting.map(\.waitEnd).min())
    // One that is idle and not good enough makes room for one that is.
    idle.first?.close()
  }

  private func waitEnded() {
    let now = NIODeadline.now()
    let due = waiting.filter { $0.waitEnd <= now }
    waiting.removeAll { $0.waitEnd <= now }
    for exchange in due {
      let message = "Every connection to \(dialer.name) was in use for too long."
      exchange.fail(BywayError(.timedOut, message, processing: .none))
    }
    waitTimer.set(waiting.map(\.waitEnd).min())
  }

  private func nextWaiting() -> HTTP1Exchange? {
    while let exchange = waiting.popFirst() {
      if !exchange.isEnded { return exchange }
    }
    return nil
  }

  // MARK: Opening

  private func dial(for exchange: HTTP1Exchange) {
    connectionCount += 1
    let deadline = min(.now() + configuration.connectTimeout, exchange.deadline ?? .distantFuture)
    dialer.dial(on: eventLoop, deadline: deadline).assumeIsolated().whenComplete { result in
      do {
        let connection = try HTTP1ClientConnection.start(on: try result.get(), upstream: self)
        if exchange.isEnded {
          connection.becomeIdle()
        } else {
          exchange.send(on: connection)
        }
      } catch {
        self.connectionCount -= 1
        exchange.fail(Self.unavailable(error, name: self.dialer.name))
        if let next = self.nextWaiting() { self.dial(for: next) }
      }
    }
  }

  private static func unavailable(_ error: any Error, name: String) -> BywayError {
    if var error = error as? BywayError {
      error.processing = .none
      return error
    }
    return BywayError(.originUnavailable, "\(name) cannot be reached.", processing: .none, cause: error)
  }
}
