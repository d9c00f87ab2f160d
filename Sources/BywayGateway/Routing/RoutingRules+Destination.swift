import Byway
import HTTPTypes
import HTTPWire

extension RoutingRules {
  /// Where a request is sent, for those who have something for one server only.
  ///
  /// An origin that has no host, a Unix socket or a Swift handler, is a service of this machine: `localhost`.
  func destination(of request: HTTPRequest) -> Destination {
    // One without a target is refused before it gets anywhere.
    switch (try? target(of: FieldSection(request))) ?? .origin {
    case .origin: .server(scheme: originScheme.rawValue, authority: origin?.description ?? "localhost")
    case .server(let scheme, let host, let port):
      .server(scheme: scheme.rawValue, authority: Authority(host, port: port).description)
    case .tunnel: .asNamed
    }
  }
}
