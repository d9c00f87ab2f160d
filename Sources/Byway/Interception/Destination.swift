package import HTTPTypes

/// The server that a request really reaches, which may differ from the one that it names: a gateway sends most requests to its one origin,
/// whatever their host.
///
/// Data that belongs to one server, such as credentials, is bound to this and not to the name, which any client can choose.
package enum Destination: Sendable, Hashable {
  /// The server that the request names, as far as is known here.
  case asNamed
  /// This server.
  case server(scheme: String, authority: String)
  /// The origin behind the link. `isNamedByUser`: whether its users know it by the name in the request.
  case origin(isNamedByUser: Bool)
  /// The device of that name, identified by its current links and by a value that differs for another device. Credentials are not sent to a
  /// device that has claimed its name.
  case device(DeviceName, links: [String], isClaimed: Bool)
}

/// An interceptor that sends the requests in its scope itself, without the rest of its chain.
package protocol Forwarder: Interceptor {
  func destination(of request: HTTPRequest) -> Destination
}
