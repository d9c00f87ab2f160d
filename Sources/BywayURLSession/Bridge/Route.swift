public import Byway
import FoundationNetworking

/// The requests that go over one link.
public struct Route: Sendable {
  /// Which requests take this route.
  public let scope: Scope
  /// Carries them.
  public let client: BywayClient

  /// A route.
  /// - Parameters:
  ///   - scope: which requests; a scheme of one's own works as well as `http`.
  ///   - client: outlives the requests; shutting it down is its owner's business.
  public init(_ scope: Scope, over client: BywayClient) {
    self.scope = scope
    self.client = client
  }
}

/// What scopes compare of a request, in place: what is out of scope should cost next to nothing.
struct RoutedRequest {
  private let method: UnsafeRawBufferPointer
  private let scheme: UnsafeRawBufferPointer
  private let authority: UnsafeRawBufferPointer
  private let path: UnsafeRawBufferPointer

  /// - Returns: `nil` where the request has no absolute URL.
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
      // A URL of Foundation may have a user in it, who is not part of where it leads.
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
