package import Logging
package import NIOCore

/// Opens byte streams to one place: an origin's address, or a link through its transport. Or waits for the far end of a link
/// to open them.
package struct Dialer: Sendable {
  /// Counts its failures together with those of others; `nil`: it has a log of its own.
  var failures: SharedSparseLog?
  private enum Source {
    case dialed(@Sendable (any EventLoop, NIODeadline) -> EventLoopFuture<any Channel>)
    case listening(InboundLink)
    /// Somebody else has them, and hands over connections.
    case handedOver
  }

  /// Names the place in messages: `unix:/run/app.sock`.
  package let name: String
  /// Of a link.
  let address: LinkAddress?
  private let source: Source

  /// - Parameter open: gives an active channel that does not read yet, on that event loop, by that deadline; fails with a
  ///   ``BywayError``.
  package init(
    name: String, _ open: @escaping @Sendable (any EventLoop, NIODeadline) -> EventLoopFuture<any Channel>
  ) {
    self.name = name
    address = nil
    source = .dialed(open)
  }

  /// Opens nothing: what listens for many gateways hands over the connections of this one.
  package static func handedOver(name: String) -> Dialer {
    Dialer(name: name, source: .handedOver)
  }

  private init(name: String, source: Source) {
    self.name = name
    address = nil
    self.source = source
  }

  /// Through a link's transport. The requesting end dials, unless the address says that it listens.
  package init(_ link: Link, logger: Logger) {
    name = link.address.text
    address = link.address
    switch link.opening ?? .dial {
    case .dial:
      source = .dialed { eventLoop, deadline in
        eventLoop.makeFutureWithTask {
          try await link.transport.connect(
            to: link.address, context: LinkContext(group: eventLoop, logger: logger, deadline: deadline))
        }
      }
    case .listen:
      source = .listening(InboundLink(link, logger: logger))
    }
  }

  /// Where the far end dials.
  package var inbound: InboundLink? {
    if case .listening(let link) = source { link } else { nil }
  }

  /// Its channels come when the far end likes.
  var isAwaited: Bool {
    switch source {
    case .dialed: false
    case .listening, .handedOver: true
    }
  }

  /// How much later than its deadline a try is given up that does not end by itself.
  private static let tolerance = TimeAmount.seconds(1)

  /// - Parameter deadline: means nothing where the far end dials.
  package func dial(on eventLoop: any EventLoop, deadline: NIODeadline) -> EventLoopFuture<any Channel> {
    switch source {
    case .dialed(let open):
      limited(open(eventLoop, deadline).hop(to: eventLoop), by: deadline + Self.tolerance)
    case .listening(let link):
      eventLoop.makeFutureWithTask { try await link.next(on: eventLoop) }
    case .handedOver:
      eventLoop.makeFailedFuture(BywayError(.linkUnavailable, "No gateway has dialed as \(name).", processing: .none))
    }
  }

  /// Whoever waits for a channel is told something, whatever a transport does; a channel that comes too late is closed.
  private func limited(
    _ opening: EventLoopFuture<any Channel>, by deadline: NIODeadline
  ) -> EventLoopFuture<any Channel> {
    let opened = opening.eventLoop.makePromise(of: (any Channel).self)
    let timer = opening.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
      opened.fail(BywayError(.timedOut, "\(name) did not open in time.", processing: .none))
      opening.whenSuccess { $0.close(promise: nil) }
    }
    opening.whenComplete { result in
      timer.cancel()
      opened.completeWith(result)
    }
    return opened.futureResult
  }
}
