import Byway
import Logging
import NIOCore

extension SSHConnection {
  /// Opens a channel to a destination, and prepares it for handover.
  func open(
    _ destination: SSHDestination, by deadline: NIODeadline, logger: Logger
  ) -> EventLoopFuture<any Channel> {
    let promise = eventLoop.makePromise(of: (any Channel).self)
    let (session, failure) = (session, failure)
    var opened: SSHChannel?
    var isAwaited = true
    let operation = SSHOperation { [unowned self] () throws(SSHError) in
      if opened == nil { opened = try session.open(destination) }
      guard let channel = opened else { return false }
      if case .command(let command) = destination, isAwaited, try !channel.execute(command) { return false }
      opened = nil
      if isAwaited {
        handOver(channel, destination, logger: logger, to: promise)
      } else {
        closing.append { channel.free() }
      }
      return true
    } fail: { [unowned self] error in
      if let channel = opened { closing.append { channel.free() } }
      promise.fail((error as? SSHError).map { failure.opening(destination, $0) } ?? error)
    }
    let timeout = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [weak self] in
      isAwaited = false
      promise.fail(failure.lateOpening(destination))
      self?.cancel(operation)
    }
    promise.futureResult.whenComplete { _ in timeout.cancel() }
    enqueue(operation)
    return promise.futureResult
  }

  private func handOver(
    _ channel: SSHChannel, _ destination: SSHDestination, logger: Logger, to promise: EventLoopPromise<any Channel>
  ) {
    let command: CommandRun? =
      if case .command(let text) = destination { CommandRun(text, failure: failure, logger: logger) } else { nil }
    let stream = SSHChannelCarrier.carry(channel, of: self, command: command)
    stream.prepareForHandover().assumeIsolated().whenComplete { result in
      if case .failure(let error) = result { return promise.fail(error) }
      stream.activate()
      promise.succeed(stream)
    }
  }

  /// Has the server listen on a port, and passes its connections to a queue.
  func listen(
    host: String, port: Int, by deadline: NIODeadline, queue: ChannelQueue
  ) -> EventLoopFuture<SSHPortListener> {
    let promise = eventLoop.makePromise(of: SSHPortListener.self)
    let (session, failure) = (session, failure)
    var isAwaited = true
    let operation = SSHOperation { [unowned self] () throws(SSHError) in
      guard let bound = try session.listen(host: host, port: port, queue: SSHPortListener.backlog) else { return false }
      let listener = SSHPortListener(bound, of: self, queue: queue)
      if isAwaited {
        ports.append(listener)
        promise.succeed(listener)
      } else {
        closing.append { bound.cancel() }
      }
      return true
    } fail: { error in
      promise.fail(error is SSHError ? failure.listening(host: host, port: port, error) : error)
    }
    let timeout = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [weak self] in
      isAwaited = false
      promise.fail(failure.lateListening(host: host, port: port))
      self?.cancel(operation)
    }
    promise.futureResult.whenComplete { _ in timeout.cancel() }
    enqueue(operation)
    return promise.futureResult
  }
}
