/// How the end of a message's content is found (RFC 9112 §6.3).
package enum BodyFraming: Sendable, Hashable {
  case none
  case length(Int)
  case chunked
  /// A response's content that ends with the connection.
  case untilClose
  /// No message any more: bytes both ways until either end closes.
  case tunnel
}

package enum HTTP1Version: Sendable, Hashable {
  case v1_0, v1_1
}
