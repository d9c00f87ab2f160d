/// The first bytes that an HTTP/2 client sends. They are not a valid HTTP/1.1 request (RFC 9113 §3.4).
package enum ClientPreface {
  package static let bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
}
