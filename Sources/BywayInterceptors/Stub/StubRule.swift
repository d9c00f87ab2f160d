package import HTTPTypes

/// A rule of a ``StubFile``: the requests that it matches, and their answer.
package struct StubRule: Sendable {
  /// `nil` for any.
  package let method: String?
  /// The host in canonical form; `nil` for any.
  package let host: String?
  package let path: String
  /// Whether it matches everything that begins like the path.
  let isPrefix: Bool
  let answer: Stub.Answer

  package func fits(_ request: HTTPRequest) -> Bool {
    if let method, method != request.method.rawValue { return false }
    if let host, host != CanonicalURI.authority(request.authority ?? "", scheme: request.scheme) { return false }
    let requested = CanonicalURI.path(request.path ?? "")
    if isPrefix { return requested.utf8.starts(with: path.utf8) }
    // A rule without a query matches any query.
    return requested == path || (!path.contains("?") && requested.prefix { $0 != "?" } == path)
  }
}
