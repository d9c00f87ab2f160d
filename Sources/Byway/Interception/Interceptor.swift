package import HTTPTypes

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

  /// Answers a request that is in ``scope``.
  /// - Parameters:
  ///   - request: as the interceptor before this one passed it on.
  ///   - next: the rest of the chain; without a call of it the request goes nowhere.
  /// - Returns: the response, with a body that may still be streaming.
  /// - Throws: whatever should fail the exchange. A ``BywayError`` becomes the matching status on a server's side.
  func intercept(_ request: Request, next: Next) async throws -> Response

  /// Lets go of what it keeps between requests, connections for example. Called when the client, proxy or gateway that it
  /// stands in is shut down, or goes over to a configuration without it; requests that came before may still be under way then.
  func shutDown() async
}

extension Interceptor {
  /// Every request.
  public var scope: Scope { .everything }

  /// Nothing to let go of.
  public func shutDown() async {}
}

/// Has something to do at times only, and costs other requests nothing meanwhile.
package protocol OccasionalInterceptor: Interceptor {
  /// Asked for each request, on any thread.
  var isNeeded: Bool { get }
}

/// Keeps connections of its own, and can go on serving who has begun while others take its place.
package protocol RetiringInterceptor: Interceptor {
  /// Keeps nothing open from now on that nobody uses.
  func retire()
}

extension [any Interceptor] {
  /// Tells those that are not among their successors that they are not needed any more.
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

/// The rest of a chain, the origin or the link at its end included.
public struct Next: Sendable {
  package let interceptors: ArraySlice<any Interceptor>
  package let terminal: @Sendable (Request) async throws -> Response
  /// What stands at the chain's end, for an interceptor that opens connections through it; `nil` where that is a function.
  package let exchanges: ExchangeClient?
  private let terminalDestination: @Sendable (HTTPRequest) -> Destination

  /// - Parameter destination: where the chain's end sends a request.
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
    _ terminalDestination: @escaping @Sendable (HTTPRequest) -> Destination,
    terminal: @escaping @Sendable (Request) async throws -> Response
  ) {
    self.interceptors = interceptors
    self.exchanges = exchanges
    self.terminalDestination = terminalDestination
    self.terminal = terminal
  }

  /// Where a request goes that is passed on as it is.
  package func destination(of request: Request) -> Destination {
    for interceptor in interceptors where interceptor.scope.contains(request.head) {
      if let forwarder = interceptor as? any Forwarder { return forwarder.destination(of: request.head) }
    }
    let destination = terminalDestination(request.head)
    // A link leads where its user says. What an answer names may lead back to the one who gave that answer.
    if destination == .asNamed, exchanges != nil, request.isLedElsewhere { return .farEnd(isItsName: false) }
    return destination
  }

  /// Passes a request on: to the next interceptor in whose scope it is, or to the end of the chain.
  ///
  /// May be called any number of times, also at once. A body that is sent twice must be replayable (``Body/isReplayable``).
  /// - Returns: the response as soon as its head has arrived.
  /// - Throws: ``BywayError``, or what an interceptor threw.
  public func callAsFunction(_ request: Request) async throws -> Response {
    guard let index = interceptors.firstIndex(where: { $0.scope.contains(request.head) }) else {
      return try await terminal(request)
    }
    let rest = Next(
      interceptors[interceptors.index(after: index)...], exchanges, terminalDestination, terminal: terminal)
    return try await interceptors[index].intercept(request, next: rest)
  }
}
