import Byway
import BywayPrimitives

/// The key of a stored response (RFC 9111 §2): the requested URL, and the server that was asked. The same URL may be asked of
/// different servers, as a request may name one that it is not sent to.
struct CacheKey {
  let text: String

  /// - Parameters:
  ///   - user: The user. A response to one user is not served to another: an origin behind this hop does not see the user, and
  ///     so cannot say which user its answer is for.
  ///   - link: The link to the far end, where another device may be tomorrow.
  init(_ target: TargetURI, at destination: Destination, for user: RequestUser = .anyone, over link: String) {
    let user = user.name.map { "user \(Hex.text($0.text.utf8)) " } ?? ""
    switch destination {
    case .asNamed: text = user + target.key
    case .origin: text = "\(user)link \(link) \(target.key)"
    case .device(_, let links, _): text = "\(user)link \(links.joined(separator: " ")) \(target.key)"
    case .server(let scheme, let authority): text = "\(user)\(scheme)://\(authority) \(target.key)"
    }
  }
}
