import HTTPTypes

/// The target of a request (RFC 9110 §7.1) in canonical spelling: two targets are equal if they mean the same.
package struct TargetURI: Hashable, Sendable {
  package let scheme: String
  package let authority: String
  /// The path with the query.
  package let path: String

  package init(scheme: String, authority: String, path: String) {
    self.scheme = scheme.lowercased()
    self.authority = CanonicalURI.authority(authority, scheme: self.scheme)
    self.path = CanonicalURI.path(path)
  }

  init(_ request: HTTPRequest) {
    self.init(scheme: request.scheme ?? "", authority: request.authority ?? "", path: request.path ?? "")
  }

  /// Resolves a reference that was found in the answer to this target (RFC 3986 §5.2.2).
  package func resolving(_ reference: URIReference) -> TargetURI {
    if let scheme = reference.scheme {
      return TargetURI(scheme: scheme, authority: reference.authority ?? "", path: reference.pathAndQuery)
    }
    if let authority = reference.authority {
      return TargetURI(scheme: scheme, authority: authority, path: reference.pathAndQuery)
    }
    if reference.path.isEmpty {
      let query = reference.query.map { "?" + $0 } ?? ""
      return TargetURI(scheme: scheme, authority: authority, path: (query.isEmpty ? path : pathOnly) + query)
    }
    if reference.path.utf8.first == UInt8(ascii: "/") {
      return TargetURI(scheme: scheme, authority: authority, path: reference.pathAndQuery)
    }
    let slash = pathOnly.utf8.lastIndex(of: UInt8(ascii: "/"))
    let folder = slash.map { String(pathOnly[...$0]) } ?? "/"
    return TargetURI(scheme: scheme, authority: authority, path: folder + reference.pathAndQuery)
  }

  /// Whether it has the same scheme, host and port (RFC 6454 §5).
  package func hasOrigin(of other: TargetURI) -> Bool {
    scheme == other.scheme && authority == other.authority
  }

  var isHTTP: Bool { scheme == "http" || scheme == "https" }

  /// The target for messages, without the query, which may contain secrets. An authority here never contains any.
  var place: String { origin + pathOnly }
  /// The key in a cache.
  package var key: String { origin + path }
  var origin: String { "\(scheme)://\(authority)" }

  /// The authority without a port. An IPv6 address keeps its brackets.
  var host: String {
    guard let colon = authority.utf8.lastIndex(of: UInt8(ascii: ":")), authority.utf8.last != UInt8(ascii: "]") else {
      return authority
    }
    return String(authority[..<colon])
  }

  /// The path without the query.
  private var pathOnly: String { String(path.prefix { $0 != "?" }) }
}

extension HTTPRequest {
  mutating func go(to target: TargetURI) {
    scheme = target.scheme
    authority = target.authority
    path = target.path
  }
}
