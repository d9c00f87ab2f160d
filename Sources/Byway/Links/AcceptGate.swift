import Logging
public import NIOCore

extension Channel {
  /// Lets a listening socket accept as its context allows: no more connections than the limit has room for, and after a failure, such as a
  /// lack of descriptors, not before a pause. To be called in a server channel's initializer.
  public func acceptWithin(_ context: LinkContext, on address: LinkAddress) -> EventLoopFuture<Void> {
    eventLoop.makeCompletedFuture {
      try syncOptions?.setOption(.maxMessagesPerRead, value: 1)
      try pipeline.syncOperations.addHandler(AcceptGate(context, address: address))
    }
  }
}

extension Channel {
  /// Closes a listening socket after the connections that it has accepted are in its queue. Closed at once, NIO would drop those between
  /// two event loops, although their clients have connected.
  package func stopAccepting(on group: any EventLoopGroup) async {
    try? await setOption(.autoRead, value: false).get()
    // From the listener's loop to the connection's, back after its setup, and there again to become active.
    for _ in 0..<3 {
      for loop in group.makeIterator() { try? await loop.submit {}.get() }
    }
    try? await close()
  }
}

/// Opens and closes a listening socket by its `autoRead`. NIO's own back-off holds reads back, but continues to read a socket after a
/// failed accept.
private final class AcceptGate: ChannelInboundHandler {
  typealias InboundIn = any Channel

  /// The pause before the next attempt after a failure, and between requests to close idle connections. The latter is shorter if
  /// connections become idle sooner.
  private static let pause = TimeAmount.milliseconds(250)

  private enum State {
    case open
    case shut(until: Scheduled<Void>)
    case closed
  }

  private let limit: ConnectionLimit
  private let logger: Logger
  private let address: LinkAddress
  private var state = State.open
  private var failures = SparseLog()
  private var refusals = SparseLog()

  init(_ context: LinkContext, address: LinkAddress) {
    limit = context.connections
    logger = context.logger
    self.address = address
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    limit.count(unwrapInboundIn(data))
    context.fireChannelRead(data)
    guard !limit.hasRoom else { return }
    if let more = refusals.admit(at: .now()) {
      logger.warning(
        "The limit of connections is reached; others wait",
        metadata: ["address": "\(address)", "limit": "\(limit.maximum)", "times": "\(more + 1)"])
    }
    shut(context)
    let gate = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    limit.whenRoom {
      gate.eventLoop.execute { gate.value.0.open(gate.value.1) }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let more = failures.admit(at: .now()) {
      logger.warning(
        "Could not accept a connection",
        metadata: ["address": "\(address)", "reason": "\(error)", "times": "\(more + 1)"])
    }
    shut(context)
  }

  func channelInactive(context: ChannelHandlerContext) {
    if case .shut(let timer) = state { timer.cancel() }
    state = .closed
    context.fireChannelInactive()
  }

  private func shut(_ context: ChannelHandlerContext) {
    guard case .open = state else { return }
    setReading(false, context)
    lookLater(context)
  }

  private func lookLater(_ context: ChannelHandlerContext) {
    let pause = limit.hasRoom ? Self.pause : min(Self.pause, limit.shortestIdleness)
    state = .shut(
      until: context.eventLoop.assumeIsolated().scheduleTask(in: pause) {
        if self.limit.hasRoom {
          self.open(context)
        } else {
          self.limit.askForRoom()
          self.lookLater(context)
        }
      })
  }

  private func open(_ context: ChannelHandlerContext) {
    guard case .shut(let timer) = state, limit.hasRoom else { return }
    timer.cancel()
    state = .open
    setReading(true, context)
  }

  private func setReading(_ isReading: Bool, _ context: ChannelHandlerContext) {
    // Fails if the socket was closed in the meantime.
    try? context.channel.syncOptions?.setOption(.autoRead, value: isReading)
  }
}
