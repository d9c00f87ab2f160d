public import Byway
import BywayHTTPWire
package import HTTPTypes
import NIOCore
import Synchronization

/// Uses https with origins behind a link, end to end. It opens a tunnel through the link to the origin (CONNECT, which the gateway must
/// allow), with TLS inside it, and HTTP/2 or HTTP/1.1 inside that. Hops on the way see no more than the host's name.
///
/// The last interceptor of a chain: later ones do not see these requests. Connections are kept for each origin. Safe on any thread.
public final class EndToEndTLS: Interceptor, Forwarder, RetiringInterceptor {
  /// The maximum number of origins with kept connections.
  private static let limit = 64
  private static let targetForm = HTTPField.Name("byway-target-form")

  private struct Key: Hashable {
    let link: ObjectIdentifier
    let host: Host
    let port: UInt16
    let protocols: [String]
  }

  public let scope: Scope
  private let contexts: TLSContexts
  private let origins = Mutex(RecentlyUsed<Key, HTTPSOrigin>(limit: limit))

  /// Creates a tunnel for https, for some hosts or all.
  /// - Parameters:
  ///   - policy: the trust and the client identities.
  ///   - hosts: the hosts whose requests use tunnels, as in `Scope.hosts`; empty: all of https.
  public init(_ policy: TLSPolicy = .defaults, hosts: [String] = []) {
    scope = Scope(schemes: ["https"], hosts: hosts)
    contexts = TLSContexts(policy)
  }

  /// Sends a request in its scope through a tunnel.
  /// - Throws: `BywayError`: `originUntrusted` if the server is not trusted, or does not accept our certificate.
  public func intercept(_ request: Request, next: Next) async throws -> Response {
    guard let link = next.exchanges else {
      throw BywayError(.invalidRequest, "A tunnel needs a link at the end of its chain.", processing: .none)
    }
    var request = request
    if let mark = Self.targetForm { request.head.headerFields[mark] = nil }
    return try await origin(of: request, over: link).client.send(request)
  }

  /// The server has shown a certificate for the name in the request.
  package func destination(of request: HTTPRequest) -> Destination { .asNamed }

  package func retire() {
    for origin in takeOrigins() { origin.retire() }
  }

  private func takeOrigins() -> [HTTPSOrigin] {
    origins.withLock { origins in
      defer { origins.removeAll() }
      return origins.values
    }
  }

  /// Closes idle connections now; the others when their exchanges have ended.
  public func shutDown() async {
    let origins = takeOrigins()
    await withTaskGroup(of: Void.self) { group in
      for origin in origins { group.addTask { await origin.shutDown() } }
    }
  }

  private func origin(of request: Request, over link: ExchangeClient) throws -> HTTPSOrigin {
    let authority = request.head.authority ?? ""
    let named: Authority
    do throws(AuthorityFlaw) {
      named = try Authority(authority)
    } catch {
      throw BywayError(.invalidRequest, place: authority, error)
    }
    // Few servers support WebSocket over HTTP/2 (RFC 8441).
    let protocols = request.head.extendedConnectProtocol == nil ? ["h2", "http/1.1"] : ["http/1.1"]
    let key = Key(
      link: ObjectIdentifier(link.handler), host: named.host, port: named.port ?? 443,
      protocols: protocols)
    let (origin, evicted) = try origins.withLock { origins -> (HTTPSOrigin, HTTPSOrigin?) in
      if let origin = origins.value(for: key) { return (origin, nil) }
      let origin = try HTTPSOrigin(
        host: key.host, port: key.port, protocols: protocols, contexts: contexts, over: link)
      return (origin, origins.insert(origin, for: key))
    }
    evicted?.retire()
    return origin
  }
}
