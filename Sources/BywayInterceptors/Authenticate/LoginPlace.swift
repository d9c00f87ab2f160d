import Byway
import HTTPTypes

/// What a login is for: a server, and a path there.
struct LoginPlace: Hashable, Sendable {
  private let destination: Destination
  /// The server by its own name, or the only one that is known.
  let target: TargetURI

  /// - Returns: `nil` where the name is not that of the server, so that nobody can tell whose login is meant.
  init?(_ request: HTTPRequest, at destination: Destination) {
    self.destination = destination
    switch destination {
    case .asNamed, .farEnd(isItsName: true), .device(_, _, isClaimed: false): target = TargetURI(request)
    case .farEnd(isItsName: false), .device(_, _, isClaimed: true): return nil
    case .server(let scheme, let authority):
      target = TargetURI(scheme: scheme, authority: authority, path: request.path ?? "")
    }
  }

  func hasServer(of other: LoginPlace) -> Bool {
    destination == other.destination && target.hasOrigin(of: other.target)
  }
}
