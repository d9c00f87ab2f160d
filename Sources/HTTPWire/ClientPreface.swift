/// What a client of HTTP/2 begins its connection with, which is no request of HTTP/1.1 (RFC 9113 §3.4).
package enum ClientPreface {
  package static let bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
}
