import Byway
import BywayHTTPWire
import HTTPTypes

extension RoutingRules {
  /// Returns the destination of a request, for interceptors that store something for one server only.
  ///
  /// An origin without a host, a Unix socket or a Swift handler, is a service of this machine: `localhost`.
  func destination(of request: HTTPRequest) -> Destination {
    // A request without a valid target is refused before it is sent.
    switch (try? target(of: ExchangeHead(fields: FieldSection(request), isComplete: true))) ?? .origin {
    case .origin: .server(scheme: originScheme.rawValue, authority: origin?.description ?? "localhost")
    case .server(let scheme, let host, let port):
      .server(scheme: scheme.rawValue, authority: Authority(host, port: port).description)
    case .tunnel: .asNamed
    }
  }
}
