public import FuzzSupport
import HTTP1Session
import HTTPWire
import NIOCore

/// What must hold for any bytes from a client or a server of HTTP/1.1.
public enum HTTP1Check {
  /// - Parameter input: one byte that says what the rest is, one that says how it is cut, then what came.
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
