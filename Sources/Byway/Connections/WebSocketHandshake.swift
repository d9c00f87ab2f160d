package import BywayHTTPWire
import BywayPrimitives

/// The proof of both ends of an HTTP/1.1 connection that they speak WebSocket (RFC 6455 §4).
///
/// Over HTTP/2 none of it is sent (RFC 8441 §5): the hop that converts between the two acts for the missing end. A value: one handshake.
package struct WebSocketHandshake {
  /// `Sec-WebSocket-Key`: sixteen random bytes, which the client chooses.
  let key: String

  // MARK: The client's part

  /// Begins a handshake, and adds what it needs to a request with `:protocol`.
  package init(asking request: inout FieldSection) {
    var generator = SystemRandomNumberGenerator()
    key = Base64.encode((0..<16).map { _ in generator.next() })
    request.set(.secWebSocketKey, key)
    request.set(.secWebSocketVersion, "13")
  }

  /// Whether the response belongs to this handshake. Removes the proof from it, which ends here.
  package func verify(_ response: inout FieldSection) -> Bool {
    let isProof = response.value(of: .secWebSocketAccept) == proof
    response.remove(.secWebSocketAccept)
    return isProof
  }

  // MARK: The server's part

  /// Takes the client's key out of an upgrade request, and turns it into one with `:protocol`.
  /// - Returns: `nil` if the key is invalid.
  package init?(answering request: inout FieldSection) {
    guard request.withValue(of: .secWebSocketKey, Self.isKey) == true,
      let key = request.value(of: .secWebSocketKey)
    else { return nil }
    self.key = key
    request.remove(.secWebSocketKey)
    request.set(.method, "CONNECT")
    request.append(.protocol, "websocket")
  }

  /// Turns the response that opens the tunnel into one of HTTP/1.1.
  package func confirm(_ response: inout FieldSection) {
    response.set(.status, "101")
    response.set(.secWebSocketAccept, proof)
  }

  // MARK: Computing

  /// The value of `Sec-WebSocket-Accept` for this key.
  var proof: String {
    Base64.encode(MessageDigest.sha1(of: Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
  }

  /// Sixteen bytes in base64 are twenty-two digits and two of padding.
  private static func isKey(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count == 24 && bytes[22...].elementsEqual("==".utf8) && bytes[..<22].allSatisfy(Base64.isDigit)
  }
}
