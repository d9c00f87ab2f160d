import NIOCore
import NIOPosix

extension Origin.Address {
  /// Opens a connection, without TLS; it does not read yet.
  ///
  /// While its queue is full a Unix socket answers EAGAIN at once, where TCP would wait: so it is asked again.
  func connect(on eventLoop: any EventLoop, by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
    open(on: eventLoop, by: deadline).flatMapError { error in
      guard let error = error as? IOError, error.errnoCode == EAGAIN, deadline > .now() else {
        return eventLoop.makeFailedFuture(error)
      }
      return eventLoop.flatScheduleTask(in: .milliseconds(5)) {
        connect(on: eventLoop, by: deadline)
      }.futureResult
    }
  }

  private func open(on eventLoop: any EventLoop, by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
    let bootstrap = ClientBootstrap(group: eventLoop)
      .channelOption(.autoRead, value: false)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .connectTimeout(max(deadline - .now(), .nanoseconds(1)))
    return switch self {
    case .unix(let path):
      bootstrap.connect(unixDomainSocketPath: path)
    case .tcp(let host, let port), .tls(let host, let port, _):
      bootstrap.channelOption(.tcpOption(.tcp_nodelay), value: 1).keepingAlive().connect(host: host, port: port)
    }
  }
}
