public import Byway
package import HTTPTypes
import HTTPWire
import NIOCore
import Synchronization

/// Speaks https with origins behind a link, end to end: a tunnel through the link to the origin (CONNECT, which the gateway
/// must allow), TLS inside it, and HTTP/2 or HTTP/1.1 inside that, so that nobody on the way sees more than the host's name.
///
/// The last of a chain: what stands behind it does not see these requests. Connections are kept for each origin. Safe on
/// any thread.
public final class Tunnel: Interceptor, Forwarder, RetiringInterceptor {
  /// Origins whose connections are kept.
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
  private let origins = Mutex(RecentlyUsed<Key, TunnelledOrigin>(limit: limit))

  /// https end to end, for some hosts or all.
  /// - Parameters:
  ///   - policy: whom to trust, and who to be.
  ///   - hosts: whose requests go through tunnels, as in `Scope.hosts`; empty: all of https.
  public init(_ policy: TLSPolicy = .defaults, hosts: [String] = []) {
    scope = Scope(schemes: ["https"], hosts: hosts)
    contexts = TLSContexts(policy)
  }

  /// Sends https through a tunnel; what is not in its scope never comes here.
  /// - Throws: `BywayError`: `originUntrusted` where the server is not who it should be, or does not believe who we are.
  public func intercept(_ request: Request, next: Next) async throws -> Response {
    guard let link = next.exchanges else {
      throw BywayError(.invalidRequest, "A tunnel needs a link at the end of its chain.", processing: .none)
    }
    var request = request
    if let mark = Self.targetForm { request.head.headerFields[mark] = nil }
    return try await origin(of: request, over: link).client.send(request)
  }

  /// Who answers has shown a certificate for the name in the request.
  package func destination(of request: HTTPRequest) -> Destination { .asNamed }

  package func retire() {
    for origin in takeOrigins() { origin.retire() }
  }

  private func takeOrigins() -> [TunnelledOrigin] {
    origins.withLock { origins in
      defer { origins.removeAll() }
      return origins.values
    }
  }

  /// Closes what is idle; the rest when its exchanges have ended.
  public func shutDown() async {
    let origins = takeOrigins()
    await withTaskGroup(of: Void.self) { group in
      for origin in origins { group.addTask { await origin.shutDown() } }
    }
  }

  private func origin(of request: Request, over link: ExchangeClient) throws -> TunnelledOrigin {
    let authority = request.head.authority ?? ""
    let named: Authority
    do throws(AuthorityFlaw) {
      named = try Authority(authority)
    } catch {
      throw BywayError(.invalidRequest, place: authority, error)
    }
    // Few servers open a WebSocket inside HTTP/2 (RFC 8441).
    let protocols = request.head.extendedConnectProtocol == nil ? ["h2", "http/1.1"] : ["http/1.1"]
    let key = Key(
      link: ObjectIdentifier(link.handler), host: named.host, port: named.port ?? 443,
      protocols: protocols)
    let (origin, evicted) = try origins.withLock { origins -> (TunnelledOrigin, TunnelledOrigin?) in
      if let origin = origins.value(for: key) { return (origin, nil) }
      let origin = try TunnelledOrigin(
        host: key.host, port: key.port, protocols: protocols, contexts: contexts, over: link)
      return (origin, origins.insert(origin, for: key))
    }
    evicted?.retire()
    return origin
  }
}
