public import HTTPTypes
package import HTTPWire

/// Which requests an interceptor takes part in: those that match every condition given.
///
/// Matching compares bytes in place and allocates nothing.
public struct Scope: Sendable, Hashable {
  /// `http`, `https`, or a scheme of one's own; in lower case. Empty: any.
  public var schemes: Set<String>
  /// Host names in lower case without a port; `*.example.com` matches every name below it. Empty: any.
  public var hosts: [String]
  /// Path prefixes, matched at whole segments: `/api` takes `/api` and `/api/x`, not `/apiary`. Empty: any.
  public var paths: [String]
  /// Empty: any.
  public var methods: Set<HTTPRequest.Method>

  public init(
    schemes: Set<String> = [], hosts: [String] = [], paths: [String] = [], methods: Set<HTTPRequest.Method> = []
  ) {
    self.schemes = schemes
    self.hosts = hosts
    self.paths = paths
    self.methods = methods
  }

  public static let everything = Scope()

  public func contains(_ request: HTTPRequest) -> Bool {
    if isEverything { return true }
    return matches(
      method: request.method.rawValue.utf8, scheme: (request.scheme ?? "").utf8,
      authority: (request.authority ?? "").utf8,
      path: (request.path ?? "").utf8)
  }

  package func contains(_ head: FieldSection) -> Bool {
    if isEverything { return true }
    let authority: KnownField = head.contains(.authority) ? .authority : .host
    func value<Result>(_ field: KnownField, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
      head.withValue(of: field, body) ?? body(.init(start: nil, count: 0))
    }
    return value(.method) { method in
      value(.scheme) { scheme in
        value(authority) { authority in
          value(.path) { matches(method: method, scheme: scheme, authority: authority, path: $0) }
        }
      }
    }
  }

  private var isEverything: Bool { schemes.isEmpty && hosts.isEmpty && paths.isEmpty && methods.isEmpty }

  /// For other modules: a generic function would not be specialized there.
  package func contains(
    method: UnsafeRawBufferPointer, scheme: UnsafeRawBufferPointer, authority: UnsafeRawBufferPointer,
    path: UnsafeRawBufferPointer
  ) -> Bool {
    matches(method: method, scheme: scheme, authority: authority, path: path)
  }

  private func matches<Bytes: BidirectionalCollection<UInt8>>(
    method: Bytes, scheme: Bytes, authority: Bytes, path: Bytes
  ) -> Bool {
    if !methods.isEmpty, !methods.contains(where: { $0.rawValue.utf8.elementsEqual(method) }) { return false }
    if !schemes.isEmpty, !schemes.contains(where: { Self.equal($0.utf8, scheme[...]) }) { return false }
    if !hosts.isEmpty {
      let host = Self.host(of: authority)
      if !hosts.contains(where: { Self.matches(host, pattern: $0) }) { return false }
    }
    return paths.isEmpty || paths.contains { Self.isPrefix($0, of: path) }
  }

  /// The authority without user information and port (RFC 3986 §3.2).
  private static func host<Bytes: BidirectionalCollection<UInt8>>(of authority: Bytes) -> Bytes.SubSequence {
    var host = authority[...]
    if let at = host.lastIndex(of: UInt8(ascii: "@")) { host = host[host.index(after: at)...] }
    if let colon = host.lastIndex(of: UInt8(ascii: ":")),
      host[host.index(after: colon)...].allSatisfy({ (0x30...0x39).contains($0) }),
      host.first != UInt8(ascii: "[") || host[..<colon].last == UInt8(ascii: "]")
    {
      host = host[..<colon]
    }
    return host
  }

  /// - Parameter pattern: a name in lower case, or `*.` and one.
  package static func matches<Bytes: BidirectionalCollection<UInt8>>(_ host: Bytes, pattern: String) -> Bool {
    guard pattern.hasPrefix("*.") else { return equal(pattern.utf8, host) }
    let suffix = pattern.utf8.dropFirst()
    return host.count > suffix.count && equal(suffix, host.suffix(suffix.count))
  }

  private static func isPrefix<Bytes: BidirectionalCollection<UInt8>>(_ prefix: String, of path: Bytes) -> Bool {
    guard path.starts(with: prefix.utf8) else { return false }
    if prefix.utf8.last == UInt8(ascii: "/") { return true }
    let next = path.dropFirst(prefix.utf8.count).first
    return next == nil || next == UInt8(ascii: "/") || next == UInt8(ascii: "?")
  }

  /// Without regard to the case of ASCII letters; the left side is in lower case already.
  private static func equal(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
    left.count == right.count && zip(left, right).allSatisfy { $0 == ($1 &- 0x41 < 26 ? $1 | 0x20 : $1) }
  }
}
