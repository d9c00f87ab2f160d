public import Byway
import FoundationNetworking

/// The requests that go over one link.
public struct Route: Sendable {
  public let scope: Scope
  public let client: BywayClient

  /// - Parameters:
  ///   - scope: which requests; a scheme of one's own works as well as `http`.
  ///   - client: outlives the requests; shutting it down is its owner's business.
  public init(_ scope: Scope, over client: BywayClient) {
    self.scope = scope
    self.client = client
  }
}

extension Scope {
  /// Compares parts of the URL's text in place: what is out of scope should cost next to nothing.
  func contains(_ request: URLRequest) -> Bool {
    guard let url = request.url?.absoluteString else { return false }
    let text = url[...].utf8
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return false }
    var rest = text[text.index(after: colon)...]
    var authority = rest.prefix(0)
    if rest.starts(with: "//".utf8) {
      rest = rest.dropFirst(2)
      authority = rest.prefix { !"/?#".utf8.contains($0) }
      rest = rest[authority.endIndex...]
    }
    let method = request.httpMethod ?? "GET"
    return contains(
      method: method[...].utf8, scheme: text[..<colon], authority: authority,
      path: rest.prefix { $0 != UInt8(ascii: "#") })
  }
}
