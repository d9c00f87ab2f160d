/// Sees a request before it leaves and the response before it arrives, wherever it stands: in ``BywayClient``, in the
/// local proxy, in the gateway.
///
/// It may answer by itself, change the request, pass it on with `next` (once, several times, or never), and change the
/// response. Bodies stream: an interceptor that only looks at heads costs no memory.
///
/// Called concurrently, as a task on the link's event loop: it must not block, and should hop elsewhere for long
/// computation.
public protocol Interceptor: Sendable {
  /// Which requests it takes part in. What is out of scope passes by at no cost.
  var scope: Scope { get }

  /// - Throws: whatever should fail the exchange. A ``BywayError`` becomes the matching status on a server's side.
  func intercept(_ request: Request, next: Next) async throws -> Response
}

extension Interceptor {
  public var scope: Scope { .everything }
}

/// The rest of a chain, the origin or the link at its end included.
public struct Next: Sendable {
  package let interceptors: ArraySlice<any Interceptor>
  package let terminal: @Sendable (Request) async throws -> Response

  package init(
    _ interceptors: ArraySlice<any Interceptor>, terminal: @escaping @Sendable (Request) async throws -> Response
  ) {
    self.interceptors = interceptors
    self.terminal = terminal
  }

  public func callAsFunction(_ request: Request) async throws -> Response {
    guard let index = interceptors.firstIndex(where: { $0.scope.contains(request.head) }) else {
      return try await terminal(request)
    }
    let rest = Next(interceptors[interceptors.index(after: index)...], terminal: terminal)
    return try await interceptors[index].intercept(request, next: rest)
  }
}
