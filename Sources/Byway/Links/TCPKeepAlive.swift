import Glibc
package import NIOCore

/// TCP keep-alive probes (RFC 9293 §3.8.4). They detect within two minutes that the other machine or its program no longer has the
/// connection, for tunnels and streams that are silent by design. The system's default is two hours.
///
/// Links send PINGs more often than that, so they do not use it.
package enum TCPKeepAlive {
  package static let options:
    [(option: ChannelOptions.Types.SocketOption, value: ChannelOptions.Types.SocketOption.Value)] = [
      (.init(level: .socket, name: .so_keepalive), 1),
      (.init(level: .tcp, name: .init(rawValue: TCP_KEEPIDLE)), 70),
      (.init(level: .tcp, name: .init(rawValue: TCP_KEEPINTVL)), 10),
      (.init(level: .tcp, name: .init(rawValue: TCP_KEEPCNT)), 5),
    ]
}
