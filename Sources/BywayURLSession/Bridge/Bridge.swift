import Byway
import Foundation
public import FoundationNetworking

/// Lets `URLSession` reach what is behind links.
///
///     let bridge = try Bridge([Route(Scope(hosts: ["device.local"]), over: client)])
///     let session = URLSession(configuration: .byway(bridge))
///     let (data, response) = try await session.data(from: URL(string: "http://device.local/status")!)
///
/// Requests that no route takes go the way that they would go without Byway. docs/urlsession.md says what works, and what
/// to call where Foundation stands in the way.
///
/// Safe on any thread. Lives until the process ends once a configuration uses it: make one, not one for each request.
public final class Bridge: Sendable {
  /// Asked in this order.
  public let routes: [Route]
  /// The most that is collected for a completion handler or an `async` call, which get a body in one piece; delegates
  /// get it as it comes, however long it is. In bytes.
  public let collectionLimit: Int
  /// The form in which an app gets a gateway's failures.
  public let gatewayFailures: GatewayFailures
  let temporaryFileSlot: TemporaryFileSlot?

  /// A bridge of these routes, which no session uses yet.
  /// - Throws: `BywayError` where this Foundation is built differently from those that this was written for.
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

  /// What `URLSessionConfiguration.protocolClasses` needs, in front of what is there.
  public var protocolClass: BywayURLProtocol.Type { BridgeTable.process.protocolClass(of: self) }

  func client(for request: URLRequest) -> BywayClient? {
    RoutedRequest.with(request) { request in routes.first { request.isIn($0.scope) }?.client }
  }
}

extension Bridge {
  /// The form of a failure that a gateway or a proxy of Byway reports, such as an origin that is down.
  public enum GatewayFailures: Sendable {
    /// A response with a status of 400 or more, as HTTP has it.
    case responses
    /// A `URLError` with a fitting code. The gateway's message is its failure reason.
    case errors
  }
}

extension URLSessionConfiguration {
  /// Asks this bridge before all that were added earlier.
  public func use(_ bridge: Bridge) {
    protocolClasses = [bridge.protocolClass] + (protocolClasses ?? [])
  }

  /// The default configuration with this bridge.
  public static func byway(_ bridge: Bridge) -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration.default
    configuration.use(bridge)
    return configuration
  }
}
