import Byway
import Foundation
import FoundationNetworking

/// A bridge that gives `URLSession` access to servers behind links.
///
///     let bridge = try Bridge([Route(Scope(hosts: ["device.local"]), over: client)])
///     let session = URLSession(configuration: .byway(bridge))
///     let (data, response) = try await session.data(from: URL(string: "http://device.local/status")!)
///
/// Requests that no route takes are sent as without Byway. docs/urlsession.md lists what works, and what to call where
/// Foundation has limits.
///
/// Safe on any thread. A bridge lives until the process ends once a configuration uses it: create one, not one for each
/// request.
public final class Bridge: Sendable {
  /// The routes, in the order in which they are asked.
  public let routes: [Route]
  /// The maximum number of bytes collected for a completion handler or an `async` call, which get a body in one piece.
  /// Delegates get a body of any length as it arrives.
  public let collectionLimit: Int
  /// The form in which an app gets a gateway's failures.
  public let gatewayFailures: GatewayFailures
  let temporaryFileSlot: TemporaryFileSlot?

  /// Creates a bridge with these routes. No session uses it yet.
  /// - Throws: `BywayError` if the internals of this version of Foundation differ from the expected ones.
  public convenience init(
    _ routes: [Route], collectionLimit: Int = 1 << 30, gatewayFailures: GatewayFailures = .responses
  ) throws {
    self.init(
      routes, collectionLimit: collectionLimit, gatewayFailures: gatewayFailures,
      temporaryFileSlot: try TaskInternals.check())
  }

  init(
    _ routes: [Route], collectionLimit: Int, gatewayFailures: GatewayFailures, temporaryFileSlot: TemporaryFileSlot?
  ) {
    self.routes = routes
    self.collectionLimit = collectionLimit
    self.gatewayFailures = gatewayFailures
    self.temporaryFileSlot = temporaryFileSlot
  }

  func client(for request: URLRequest) -> BywayClient? {
    RoutedRequest.with(request) { request in routes.first { request.isIn($0.scope) }?.client }
  }
}

extension Bridge {
  /// The form of a failure that a gateway or a proxy of Byway reports, such as an origin that is down.
  public enum GatewayFailures: Sendable {
    /// A response with a status of 400 or more, as in HTTP.
    case responses
    /// A `URLError` with a fitting code. The gateway's message is its failure reason.
    case errors
  }
}
