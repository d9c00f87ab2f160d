package import HTTPTypes

/// The server that a request really reaches, which need not be the one that it names: a gateway sends most requests to its
/// one origin, whatever they call it.
///
/// What belongs to one server, a login above all, goes by this and not by the name, which anybody can choose.
package enum Destination: Sendable, Hashable {
  /// The one that the request names, as far as can be told here.
  case asNamed
  /// This one.
  case server(scheme: String, authority: String)
  /// The one that the link leads to, known to its users by the request's name, or called something that is not its name.
  case farEnd(isItsName: Bool)
  /// The device of that name, by the links that lead to it now, and whatever else tells it from the next one. One that is claimed has its
  /// name from itself, so that no login is for it.
  case device(DeviceName, roads: [String], isClaimed: Bool)
}

/// An interceptor that does not use the rest of its chain for the requests in its scope.
package protocol Forwarder: Interceptor {
  func destination(of request: HTTPRequest) -> Destination
}
