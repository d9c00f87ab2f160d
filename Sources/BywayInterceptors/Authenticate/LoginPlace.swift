import Byway
import HTTPTypes

/// The place that a login is for: a server, and a path on it.
struct LoginPlace: Hashable, Sendable {
  private let destination: Destination
  /// The server by its own name, or by the only name that is known.
  let target: TargetURI

  /// - Returns: `nil` if the name is not the server's own, so that it is unclear whose login is meant.
  init?(_ request: HTTPRequest, at destination: Destination) {
    self.destination = destination
    switch destination {
    case .asNamed, .origin(isNamedByUser: true), .device(_, _, isClaimed: false): target = TargetURI(request)
    case .origin(isNamedByUser: false), .device(_, _, isClaimed: true): return nil
    case .server(let scheme, let authority):
      target = TargetURI(scheme: scheme, authority: authority, path: request.path ?? "")
    }
  }

  func hasServer(of other: LoginPlace) -> Bool {
    destination == other.destination && target.hasOrigin(of: other.target)
  }
}
