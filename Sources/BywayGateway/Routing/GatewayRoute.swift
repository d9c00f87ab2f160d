import Byway
import BywayHTTPWire
package import HTTPTypes

/// The target of a request at a gateway, from its configuration alone, for an explanation.
package enum GatewayRoute: Sendable, Hashable {
  case origin
  /// The server that the request names, `http://HOST:PORT`.
  case server(String)
  /// A tunnel to `HOST:PORT`.
  case tunnel(String)
}

extension GatewayConfiguration {
  /// Returns the target of a request.
  /// - Parameter isAbsolute: whether its client asks for the server that it names, through a proxy.
  /// - Throws: `BywayError` with the reason if the gateway refuses it.
  package func route(of request: HTTPRequest, isAbsolute: Bool) throws -> GatewayRoute {
    var head = ExchangeHead(fields: FieldSection(request), isComplete: true)
    if isAbsolute { head.append(.targetForm, "absolute") }
    let target = try RoutingRules(self).target(of: head)
    return switch target {
    case .origin: .origin
    case .server(let scheme, let host, let port): .server("\(scheme.rawValue)://\(Authority(host, port: port))")
    case .tunnel(let host, let port): .tunnel("\(Authority(host, port: port))")
    }
  }
}
