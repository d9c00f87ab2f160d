/// The way in which the end of a message's content is determined (RFC 9112 §6.3).
package enum BodyFraming: Sendable, Hashable {
  case none
  case length(Int)
  case chunked
  /// The content of a response that ends with the connection.
  case untilClose
  /// Not a message: bytes in both directions until either end closes.
  case tunnel
}

package enum HTTP1Version: Sendable, Hashable {
  case v1_0, v1_1
}
