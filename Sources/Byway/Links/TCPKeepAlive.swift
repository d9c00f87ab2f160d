import Glibc
package import NIOCore

/// The kernel asks (RFC 9293 §3.8.4) whether the other machine, and the program there, still has the connection, so that a stream which
/// is silent by its nature, and a tunnel, do not outlive it for more than two minutes. The system's default is two hours.
///
/// Links send PINGs more often than that, which is why nothing is added to them.
package enum TCPKeepAlive {
  package static let options:
    [(option: ChannelOptions.Types.SocketOption, value: ChannelOptions.Types.SocketOption.Value)] = [
      (.init(level: .socket, name: .so_keepalive), 1),
      (.init(level: .tcp, name: .init(rawValue: TCP_KEEPIDLE)), 70),
      (.init(level: .tcp, name: .init(rawValue: TCP_KEEPINTVL)), 10),
      (.init(level: .tcp, name: .init(rawValue: TCP_KEEPCNT)), 5),
    ]
}
