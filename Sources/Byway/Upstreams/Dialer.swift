package import Logging
package import NIOCore

/// Opens byte streams to one place: to an origin's address, or over a link through its transport. Alternatively waits for the remote end of
/// a link to open them.
package struct Dialer: Sendable {
  /// A log shared with other dialers that counts the failures of all of them; `nil`: a log of its own.
  var failures: SharedSparseLog?
  private enum Source {
    case dialed(@Sendable (any EventLoop, NIODeadline) -> EventLoopFuture<any Channel>)
    case listening(InboundLink)
    /// Another component accepts the streams and hands over connections.
    case handedOver
  }

  /// The name of the place in messages: `unix:/run/app.sock`.
  package let name: String
  /// The address of the link; `nil` for an origin.
  let address: LinkAddress?
  private let source: Source

  /// - Parameter open: returns an active channel that does not read yet, on the given event loop and before the deadline; fails with a
  ///   ``BywayError``.
  package init(
    name: String, _ open: @escaping @Sendable (any EventLoop, NIODeadline) -> EventLoopFuture<any Channel>
  ) {
    self.name = name
    address = nil
    source = .dialed(open)
  }

  /// Creates a dialer that opens nothing: a component that listens for many gateways hands over the connections of this one.
  package static func handedOver(name: String) -> Dialer {
    Dialer(name: name, source: .handedOver)
  }

  private init(name: String, source: Source) {
    self.name = name
    address = nil
    self.source = source
  }

  /// Creates a dialer for a link's transport. The requesting end dials, unless the address says that it listens.
  /// - Parameters:
  ///   - environment: additional variables of a program that the transport starts.
  ///   - programs: the list of the programs that it starts.
  ///   - peer: the expected remote end, for messages.
  package init(
    _ link: Link, environment: [String: String] = [:], programs: StartedPrograms? = nil, peer: LinkPeer = .gateway,
    logger: Logger
  ) {
    name = link.address.text
    address = link.address
    switch link.opening ?? .dial {
    case .dial:
      // Over HTTP/2, one connection carries all requests.
      let sharedLine = link.isLine && link.framing == .http1 ? SharedLine() : nil
      source = .dialed { eventLoop, deadline in
        eventLoop.makeFutureWithTask {
          var context = LinkContext(group: eventLoop, logger: logger, deadline: deadline)
          context.environment = environment
          context.programs = programs
          context.peer = peer
          context.sharedLine = sharedLine
          return try await link.transport.connect(to: link.address, context: context)
        }
      }
    case .listen:
      source = .listening(InboundLink(link, logger: logger))
    }
  }

  /// The listening side, if the remote end dials.
  package var inbound: InboundLink? {
    if case .listening(let link) = source { link } else { nil }
  }

  /// Whether the remote end decides when a channel opens.
  var isAwaited: Bool {
    switch source {
    case .dialed: false
    case .listening, .handedOver: true
    }
  }

  /// How long after its deadline an attempt is abandoned that does not end by itself.
  private static let tolerance = TimeAmount.seconds(1)

  /// - Parameter deadline: ignored where the remote end dials.
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

  /// Completes in time whatever the transport does; a channel that arrives too late is closed.
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
