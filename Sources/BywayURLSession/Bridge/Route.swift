public import Byway
import FoundationNetworking

/// A rule that sends matching requests over one link.
public struct Route: Sendable {
  /// The requests that take this route.
  public let scope: Scope
  /// The client that sends them.
  public let client: BywayClient

  /// Creates a route.
  /// - Parameters:
  ///   - scope: the requests; a custom scheme works as well as `http`.
  ///   - client: the client. It must outlive the requests; its owner shuts it down.
  public init(_ scope: Scope, over client: BywayClient) {
    self.scope = scope
    self.client = client
  }
}

/// The parts of a request that scopes compare, parsed in place: requests out of scope should cost almost nothing.
struct RoutedRequest {
  private let method: UnsafeRawBufferPointer
  private let scheme: UnsafeRawBufferPointer
  private let authority: UnsafeRawBufferPointer
  private let path: UnsafeRawBufferPointer

  /// - Returns: `nil` if the request has no absolute URL.
  static func with<Result>(_ request: URLRequest, _ body: (RoutedRequest) -> Result?) -> Result? {
    guard var url = request.url?.absoluteString else { return nil }
    var method = request.httpMethod ?? "GET"
    return url.withUTF8 { url in
      method.withUTF8 { method in
        RoutedRequest(UnsafeRawBufferPointer(method), UnsafeRawBufferPointer(url)).flatMap(body)
      }
    }
  }

  private init?(_ method: UnsafeRawBufferPointer, _ url: UnsafeRawBufferPointer) {
    guard let colon = url.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    var rest = url[(colon + 1)...]
    var authority = rest.prefix(0)
    if rest.starts(with: "//".utf8) {
      rest = rest.dropFirst(2)
      authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
      rest = rest[authority.endIndex...]
      // A URL of Foundation may contain user information, which is not part of its target.
      if let at = authority.lastIndex(of: UInt8(ascii: "@")) { authority = authority[(at + 1)...] }
    }
    self.method = method
    scheme = UnsafeRawBufferPointer(rebasing: url[..<colon])
    self.authority = UnsafeRawBufferPointer(rebasing: authority)
    path = UnsafeRawBufferPointer(rebasing: rest.prefix { $0 != UInt8(ascii: "#") })
  }

  func isIn(_ scope: Scope) -> Bool {
    scope.contains(method: method, scheme: scheme, authority: authority, path: path)
  }
}
