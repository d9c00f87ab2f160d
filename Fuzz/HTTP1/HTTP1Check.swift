import BywayHTTP1Session
import BywayHTTPWire
public import FuzzSupport
import NIOCore

/// The properties of parsers for any bytes from an HTTP/1.1 client or server.
public enum HTTP1Check {
  /// - Parameter input: one byte that selects the parser, one that says how the rest is cut, then the received bytes.
  public static func check(_ input: [UInt8]) throws(Violation) {
    guard input.count > 2 else { return }
    let bytes = Array(input[2...])
    let pieces = bytes.cut(like: input[1])
    let kind: RequestKind = [.ordinary, .head, .connect, .upgrade][Int(input[0] >> 1 & 3)]
    if input[0] & 1 == 0 {
      let requests = readRequests([bytes], closed: true)
      try expect(requests == readRequests(pieces, closed: true), "cutting changes the requests: \(requests)")
      try ForwardedMessage.checkRequests(requests)
    } else {
      let response = readResponse([bytes], to: kind, closed: true)
      try expect(
        response == readResponse(pieces, to: kind, closed: true), "cutting changes the response: \(response)")
      try ForwardedMessage.checkResponse(response, to: kind)
    }
  }
}
