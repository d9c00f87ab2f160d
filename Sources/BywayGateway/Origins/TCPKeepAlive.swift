import Glibc
import NIOCore
import NIOPosix

extension ClientBootstrap {
  /// The kernel asks (RFC 9293 §3.8.4) whether the other machine is still there, so that a stream which is silent by its
  /// nature, and a tunnel, do not outlive it for more than two minutes. The system's default is two hours.
  func keepingAlive() -> Self {
    channelOption(.socketOption(.so_keepalive), value: 1)
      .channelOption(.tcpOption(NIOBSDSocket.Option(rawValue: TCP_KEEPIDLE)), value: 60)
      .channelOption(.tcpOption(NIOBSDSocket.Option(rawValue: TCP_KEEPINTVL)), value: 10)
      .channelOption(.tcpOption(NIOBSDSocket.Option(rawValue: TCP_KEEPCNT)), value: 6)
  }
}
