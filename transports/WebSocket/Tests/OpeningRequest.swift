/// Returns a request for a link over WebSocket.
/// - Parameter protocols: The value of Sec-WebSocket-Protocol.
func openingRequest(protocols: String = "byway") -> String {
  """
  GET /byway HTTP/1.1\r
  Host: hub\r
  Upgrade: websocket\r
  Connection: Upgrade\r
  Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
  Sec-WebSocket-Version: 13\r
  Sec-WebSocket-Protocol: \(protocols)\r
  \r

  """
}
