package import Logging
package import NIOCore

/// Opens byte streams to one place: an origin's address, or a link through its transport. Or waits for the far end of a link
/// to open them.
package struct Dialer: Sendable {
  /// Names the place in messages: `unix:/run/app.sock`.
  package let name: String
  /// Where the far end dials.
  package let inbound: InboundLink?
  private let open: @Sendable (any EventLoop, NIODeadline) -> EventLoopFuture<any Channel>

  /// - Parameter open: gives an active channel that does not read yet, on that event loop, by that deadline; fails with a
  ///   ``BywayError``.
  package init(
    name: String, _ open: @escaping @Sendable (any EventLoop, NIODeadline) -> EventLoopFuture<any Channel>
  ) {
    self.name = name
    inbound = nil
    self.open = open
  }

  /// Through a link's transport. The requesting end dials, unless the address says that it listens.
  package init(_ link: Link, logger: Logger) {
    name = link.address.text
    switch link.opening ?? .dial {
    case .dial:
      inbound = nil
      open = { eventLoop, deadline in
        eventLoop.makeFutureWithTask {
          try await link.transport.connect(
            to: link.address, context: LinkContext(group: eventLoop, logger: logger, deadline: deadline))
        }
      }
    case .listen:
      let inbound = InboundLink(link, logger: logger)
      self.inbound = inbound
      open = { eventLoop, _ in eventLoop.makeFutureWithTask { try await inbound.next(on: eventLoop) } }
    }
  }

  /// How much later than its deadline a try is given up that does not end by itself.
  private static let tolerance = TimeAmount.seconds(1)

  /// - Parameter deadline: means nothing where the far end dials.
  package func dial(on eventLoop: any EventLoop, deadline: NIODeadline) -> EventLoopFuture<any Channel> {
    let opening = open(eventLoop, deadline).hop(to: eventLoop)
    return inbound == nil ? limited(opening, by: deadline + Self.tolerance) : opening
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
