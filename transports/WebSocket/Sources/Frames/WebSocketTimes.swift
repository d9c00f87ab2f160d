import NIOCore

/// The times of a link over WebSocket.
struct WebSocketTimes: Sendable {
  /// After so long without bytes in both directions, this end sends a PING: routers and proxies forget silent connections, nginx after 60 s.
  var ping = TimeAmount.seconds(30)
  /// The time for the answer; any bytes count. Less than ``ping``.
  var pong = TimeAmount.seconds(20)
  /// The time for the peer to end its direction after a full close.
  var closing = TimeAmount.seconds(1)
  /// The time for a client's handshake. A dialer has its own deadline.
  var handshake = TimeAmount.seconds(10)
}
