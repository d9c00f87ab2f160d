import HTTP1Session
import HTTPWire
import NIOCore

/// What must hold for any bytes from a client or a server of HTTP/1.1.
public enum HTTP1Check {
  public struct Violation: Error, CustomStringConvertible {
    public let description: String
  }

  /// - Parameter input: one byte that says what the rest is, one that says how it is cut, then what came.
  public static func check(_ input: [UInt8]) throws(Violation) {
    guard input.count > 2 else { return }
    let bytes = Array(input[2...])
    let pieces = cut(bytes, like: input[1])
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

  static func expect(_ holds: Bool, _ message: @autoclosure () -> String) throws(Violation) {
    if !holds { throw Violation(description: message()) }
  }

  /// Into pieces of 1 byte to eight, by a sequence that the seed begins.
  private static func cut(_ bytes: [UInt8], like seed: UInt8) -> [[UInt8]] {
    var state = UInt32(seed)
    var pieces: [[UInt8]] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      state = state &* 1_664_525 &+ 1_013_904_223
      let count = Int(state >> 24 & 7) + 1
      pieces.append(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return pieces
  }
}
