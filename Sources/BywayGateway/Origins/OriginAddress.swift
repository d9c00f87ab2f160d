import Byway
import NIOCore
import NIOPosix

extension Origin.Address {
  /// Opens a connection without TLS. It does not read yet.
  func connect(on eventLoop: any EventLoop, by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
    switch self {
    case .unix(let path):
      UnixBacklog.connect(on: eventLoop, by: deadline) {
        bootstrap(on: eventLoop, by: deadline).connect(unixDomainSocketPath: path)
      }
    case .tcp(let host, let port), .tls(let host, let port, _):
      TCPKeepAlive.options.reduce(
        bootstrap(on: eventLoop, by: deadline).channelOption(.tcpOption(.tcp_nodelay), value: 1)
      ) { $0.channelOption($1.option, value: $1.value) }
      .connect(host: host, port: port)
    }
  }

  private func bootstrap(on eventLoop: any EventLoop, by deadline: NIODeadline) -> ClientBootstrap {
    ClientBootstrap(group: eventLoop)
      .channelOption(.autoRead, value: false)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .connectTimeout(max(deadline - .now(), .nanoseconds(1)))
  }
}
