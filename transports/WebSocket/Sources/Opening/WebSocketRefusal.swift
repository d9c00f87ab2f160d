import Byway
import BywayHTTPWire
import BywayPrimitives

/// An answer that opens no WebSocket, in the user's terms: the status, and what to change.
struct WebSocketRefusal {
  private let status: Int
  private let head: FieldSection
  private let target: WebSocketTarget

  init(status: Int, _ head: FieldSection, _ target: WebSocketTarget) {
    self.status = status
    self.head = head
    self.target = target
  }

  var error: BywayError {
    BywayError(
      .linkUnavailable, Diagnosis(fault, "\(target.address) opened no WebSocket: it answered \(status). \(advice)"))
  }

  private var fault: LinkFault {
    switch status {
    case 401, 403: .loginRefused
    case 502, 503, 504: .noGateway
    default: .handshakeFailed
    }
  }

  private var advice: String {
    switch status {
    case 401 where target.tokenFile == nil: "It wants a token: give it with token-file=FILE."
    case 401, 403: "It refuses the token or the certificate of this end: ask its administrator for a valid one."
    case 404: "There is no link at \(target.path): check the path."
    case 407: "A proxy on the way wants a login: write proxy=http://USER@HOST:PORT and proxy-password=."
    case 300..<400:
      head.text(of: "location").map { "It refers to \(String($0.prefix(200)).visible): use that address." }
        ?? "It refers to another address: ask its administrator."
    case 429: "It has too many connections: try again later."
    case 502, 503, 504: "The web server there does not reach the hub behind it: is \(Advice.program(.proxy)) running?"
    default:
      "Does a hub listen at \(target.path)? A web server in front of it must pass on Upgrade and Connection."
    }
  }
}
