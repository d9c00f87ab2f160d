import Byway
import Primitives

/// Under what a response is kept (RFC 9111 §2): what was asked for, and of whom. The same URL asks different servers where
/// a request names one that it is not sent to.
struct CacheKey {
  let text: String

  /// - Parameters:
  ///   - visitor: what one user has been told is not told another, whoever asks: an origin behind this hop does not see who that is, and
  ///     so cannot say whom its answer is for.
  ///   - link: names the far end, behind which another device may be tomorrow.
  init(_ target: TargetURI, at destination: Destination, for visitor: Visitor = .anyone, over link: String) {
    let user = visitor.name.map { "user \(Hex.text($0.text.utf8)) " } ?? ""
    switch destination {
    case .asNamed: text = user + target.key
    case .farEnd: text = "\(user)link \(link) \(target.key)"
    case .device(_, let roads, _): text = "\(user)link \(roads.joined(separator: " ")) \(target.key)"
    case .server(let scheme, let authority): text = "\(user)\(scheme)://\(authority) \(target.key)"
    }
  }
}
