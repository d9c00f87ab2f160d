import BywayLibC
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

  /// The seconds of silence before a probe of a peer that has ended its direction: it may have closed its socket.
  private static let idleAfterEnd: ChannelOptions.Types.SocketOption.Value = 5

  /// Probes a peer that has ended its direction sooner. On the channel's event loop; no effect on other channels than TCP.
  static func peerEnded(_ channel: any Channel) {
    switch channel.remoteAddress {
    case .v4, .v6:
      // Without the option, the usual time applies.
      try? channel.syncOptions?.setOption(
        ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: TCP_KEEPIDLE)), value: idleAfterEnd)
    case .unixDomainSocket, nil: break
    }
  }
}
