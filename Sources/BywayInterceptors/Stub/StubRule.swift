package import HTTPTypes

/// One rule of a ``StubFile``: which requests, and what they get.
package struct StubRule: Sendable {
  /// `nil`: any.
  package let method: String?
  /// In canonical form; `nil`: any.
  package let host: String?
  package let path: String
  /// Everything that begins like the path.
  let isPrefix: Bool
  let answer: Stub.Answer

  package func fits(_ request: HTTPRequest) -> Bool {
    if let method, method != request.method.rawValue { return false }
    if let host, host != CanonicalURI.authority(request.authority ?? "", scheme: request.scheme) { return false }
    let requested = CanonicalURI.path(request.path ?? "")
    if isPrefix { return requested.utf8.starts(with: path.utf8) }
    // A rule without a query is for all of them.
    return requested == path || (!path.contains("?") && requested.prefix { $0 != "?" } == path)
  }
}
