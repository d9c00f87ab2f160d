import Byway

/// Under what a response is kept (RFC 9111 §2): what was asked for, and of whom. The same URL asks different servers where
/// a request names one that it is not sent to.
struct CacheKey {
  let text: String

  /// - Parameter link: names the far end, behind which another device may be tomorrow.
  init(_ target: TargetURI, at destination: Destination, over link: String) {
    switch destination {
    case .asNamed: text = target.key
    case .farEnd: text = "link \(link) \(target.key)"
    case .device(_, let roads, _): text = "link \(roads.joined(separator: " ")) \(target.key)"
    case .server(let scheme, let authority): text = "\(scheme)://\(authority) \(target.key)"
    }
  }
}
