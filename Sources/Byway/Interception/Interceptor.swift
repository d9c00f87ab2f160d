package import HTTPTypes

/// Handles a request before it leaves and the response before it arrives, in ``BywayClient``, in the local proxy, or in the gateway.
///
/// It may respond itself, change the request, pass it on with `next` (once, several times, or never), and change the response. Bodies
/// stream: an interceptor that only reads heads costs no memory.
///
/// Called concurrently, as a task on the link's event loop: it must not block, and should move long computations elsewhere.
public protocol Interceptor: Sendable {
  /// The requests that it handles. Requests out of scope have no extra cost.
  var scope: Scope { get }

  /// Handles a request in its ``scope``.
  /// - Parameters:
  ///   - request: the request as passed on by the previous interceptor.
  ///   - next: the rest of the chain; without a call of it the request goes nowhere.
  /// - Returns: the response, with a body that may still be streaming.
  /// - Throws: an error that fails the exchange. A ``BywayError`` becomes the matching status on a server's side.
  func intercept(_ request: Request, next: Next) async throws -> Response

  /// Releases what it keeps between requests, for example connections. Called when its client, proxy or gateway is shut down or gets a
  /// configuration without it. Earlier requests may still be running then.
  func shutDown() async
}

extension Interceptor {
  /// All requests.
  public var scope: Scope { .everything }

  /// Does nothing.
  public func shutDown() async {}
}

/// An interceptor that is needed only at times, and adds no cost to other requests.
package protocol OccasionalInterceptor: Interceptor {
  /// Called for each request, on any thread.
  var isNeeded: Bool { get }
}

/// An interceptor with connections of its own that can finish running exchanges after it was replaced.
package protocol RetiringInterceptor: Interceptor {
  /// Keeps no unused connection open from now on.
  func retire()
}

extension [any Interceptor] {
  /// Retires or shuts down the interceptors that are not among their successors.
  package func retire(except successors: [any Interceptor]) async {
    func identity(_ interceptor: any Interceptor) -> ObjectIdentifier? {
      type(of: interceptor) is AnyObject.Type ? ObjectIdentifier(interceptor as AnyObject) : nil
    }
    let kept = Set(successors.compactMap(identity))
    for interceptor in self where !(identity(interceptor).map(kept.contains) ?? false) {
      if let retiring = interceptor as? any RetiringInterceptor {
        retiring.retire()
      } else {
        await interceptor.shutDown()
      }
    }
  }
}

/// The rest of a chain, including the origin or the link at its end.
public struct Next: Sendable {
  package let interceptors: ArraySlice<any Interceptor>
  package let terminal: @Sendable (Request) async throws -> Response
  /// The end of the chain, for an interceptor that opens connections through it; `nil` if the end is a function.
  package let exchanges: ExchangeClient?
  private let destinationOfChain: @Sendable (HTTPRequest) -> Destination

  /// - Parameter destination: returns the destination of a request at the chain's end.
  package init(
    _ interceptors: ArraySlice<any Interceptor>, to exchanges: ExchangeClient,
    destination: @escaping @Sendable (HTTPRequest) -> Destination = { _ in .asNamed }
  ) {
    self.init(interceptors, exchanges, destination) { try await exchanges.send($0) }
  }

  package init(
    _ interceptors: ArraySlice<any Interceptor>, terminal: @escaping @Sendable (Request) async throws -> Response
  ) {
    self.init(interceptors, nil, { _ in .asNamed }, terminal: terminal)
  }

  private init(
    _ interceptors: ArraySlice<any Interceptor>, _ exchanges: ExchangeClient?,
    _ destinationOfChain: @escaping @Sendable (HTTPRequest) -> Destination,
    terminal: @escaping @Sendable (Request) async throws -> Response
  ) {
    self.interceptors = interceptors
    self.exchanges = exchanges
    self.destinationOfChain = destinationOfChain
    self.terminal = terminal
  }

  /// Returns the destination of a request that is passed on unchanged.
  package func destination(of request: Request) -> Destination {
    for interceptor in interceptors where interceptor.scope.contains(request.head) {
      if let forwarder = interceptor as? any Forwarder { return forwarder.destination(of: request.head) }
    }
    let destination = destinationOfChain(request.head)
    // A link has the target that its user chose. A URL from a response may lead back to the sender of that response.
    if destination == .asNamed, exchanges != nil, request.urlCameFromResponse { return .origin(isNamedByUser: false) }
    return destination
  }

  /// Passes a request on: to the next interceptor with it in scope, or to the end of the chain.
  ///
  /// May be called any number of times, also concurrently. A body that is sent twice must be replayable (``Body/isReplayable``).
  /// - Returns: the response as soon as its head has arrived.
  /// - Throws: ``BywayError``, or an interceptor's error.
  public func callAsFunction(_ request: Request) async throws -> Response {
    guard let index = interceptors.firstIndex(where: { $0.scope.contains(request.head) }) else {
      return try await terminal(request)
    }
    let rest = Next(
      interceptors[interceptors.index(after: index)...], exchanges, destinationOfChain, terminal: terminal)
    return try await interceptors[index].intercept(request, next: rest)
  }
}
