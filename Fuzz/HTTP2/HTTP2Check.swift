import BywayHTTP2Session
public import FuzzSupport
import NIOCore

/// The properties of a session for any bytes from an HTTP/2 peer, and any actions of the session's owner.
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
