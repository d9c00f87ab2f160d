import NIOCore

extension EventLoopFuture where Value: Sendable {
  /// Returns a future with the same result, which fails at a deadline.
  func failing(with error: some Error, at deadline: NIODeadline) -> EventLoopFuture<Value> {
    let done = eventLoop.makePromise(of: Value.self)
    let timeout = eventLoop.scheduleTask(deadline: deadline) { done.fail(error) }
    whenComplete { result in
      timeout.cancel()
      done.completeWith(result)
    }
    return done.futureResult
  }
}

extension EventLoopFuture<Void> {
  /// Succeeds when this future completes in any way, and at the latest after that time.
  func settled(within limit: TimeAmount) -> EventLoopFuture<Void> {
    failing(with: BrokerEnd.silent, at: eventLoop.now + limit).flatMapErrorThrowing { _ in }
  }
}
