public import FuzzSupport
import HTTP2Session
import NIOCore

/// What must hold for any bytes from a peer of HTTP/2, whatever the session's owner does meanwhile.
public enum HTTP2Check {
  public static func check(_ input: [UInt8]) throws(Violation) {
    guard let kind = input.first else { return }
    let script = Script(input.dropFirst())
    switch kind & 3 {
    case 0: try CutConnection.check(script, role: kind & 4 == 0 ? .server : .client)
    case 1: try ForwardedRequests.check(script)
    default:
      var peer = HostilePeer(script, role: kind & 4 == 0 ? .server : .client)
      try peer.run()
    }
  }
}
