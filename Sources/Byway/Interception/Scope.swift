import BywayHTTPWire
public import HTTPTypes

/// The requests that an interceptor handles: those that match all given conditions.
///
/// Matching compares bytes in place and allocates nothing.
public struct Scope: Sendable, Hashable {
  /// `http`, `https`, or another scheme; in lower case. Empty: any.
  public var schemes: Set<String>
  /// Hosts without a port; `*.example.com` matches every name below it. An invalid host matches nothing. Empty: any.
  public var hosts: [String] {
    didSet { patterns = Self.patterns(of: hosts) }
  }
  /// Path prefixes, matched at whole segments: `/api` takes `/api` and `/api/x`, not `/apiary`. Empty: any.
  public var paths: [String] {
    didSet { prefixes = paths.map { Array($0.utf8) } }
  }
  /// Empty: any.
  public var methods: Set<HTTPRequest.Method>
  private var patterns: [HostPattern]
  /// The bytes of ``paths``.
  private var prefixes: [[UInt8]]

  /// Creates a scope of all given conditions; with none, ``everything``.
  /// - Parameters:
  ///   - schemes: in lower case; empty: any.
  ///   - hosts: without a port, `*.example.com` for every name below it; empty: any.
  ///   - paths: prefixes of whole segments; empty: any.
  ///   - methods: empty: any.
  public init(
    schemes: Set<String> = [], hosts: [String] = [], paths: [String] = [], methods: Set<HTTPRequest.Method> = []
  ) {
    self.schemes = schemes
    self.hosts = hosts
    self.paths = paths
    self.methods = methods
    patterns = Self.patterns(of: hosts)
    prefixes = paths.map { Array($0.utf8) }
  }

  private static func patterns(of hosts: [String]) -> [HostPattern] {
    hosts.compactMap { try? HostPattern($0) }
  }

  /// Every request.
  public static let everything = Scope()

  /// Whether a request is in this scope.
  public func contains(_ request: HTTPRequest) -> Bool {
    if isEverything { return true }
    var method = request.method.rawValue
    var scheme = request.scheme ?? ""
    var authority = request.authority ?? ""
    var path = request.path ?? ""
    return method.withUTF8 { method in
      scheme.withUTF8 { scheme in
        authority.withUTF8 { authority in
          path.withUTF8 { path in
            contains(
              method: .init(method), scheme: .init(scheme), authority: .init(authority), path: .init(path))
          }
        }
      }
    }
  }

  package func contains(_ request: ExchangeHead) -> Bool {
    // Only the fields with a condition are read, and each closure captures one collection, not the scope.
    let (methods, schemes, prefixes) = (methods, schemes, prefixes)
    func value(_ field: KnownField, _ matches: (UnsafeRawBufferPointer) -> Bool) -> Bool {
      request.fields.withValue(of: field, matches) ?? false
    }
    if !methods.isEmpty, !value(.method, { Self.contains($0, in: methods) }) { return false }
    if !schemes.isEmpty, !value(.scheme, { Self.contains($0, in: schemes) }) { return false }
    if !prefixes.isEmpty, !value(.path, { Self.contains($0, below: prefixes) }) { return false }
    if hosts.isEmpty { return true }
    if request.fields.contains(.authority) { return request.withAuthority(matchesHost) ?? false }
    return value(.host, matchesHost)
  }

  private var isEverything: Bool { schemes.isEmpty && hosts.isEmpty && paths.isEmpty && methods.isEmpty }

  package func contains(
    method: UnsafeRawBufferPointer, scheme: UnsafeRawBufferPointer, authority: UnsafeRawBufferPointer,
    path: UnsafeRawBufferPointer
  ) -> Bool {
    (methods.isEmpty || Self.contains(method, in: methods)) && (schemes.isEmpty || Self.contains(scheme, in: schemes))
      && (prefixes.isEmpty || Self.contains(path, below: prefixes)) && (hosts.isEmpty || matchesHost(authority))
  }

  private static func contains(_ method: UnsafeRawBufferPointer, in methods: Set<HTTPRequest.Method>) -> Bool {
    methods.contains { $0.rawValue.utf8.elementsEqual(method) }
  }

  private static func contains(_ scheme: UnsafeRawBufferPointer, in schemes: Set<String>) -> Bool {
    schemes.contains { equal($0.utf8, scheme) }
  }

  private static func contains(_ path: UnsafeRawBufferPointer, below prefixes: [[UInt8]]) -> Bool {
    prefixes.contains { isPrefix($0, of: path) }
  }

  private func matchesHost(_ text: UnsafeRawBufferPointer) -> Bool {
    (try? AuthoritySpelling(text)).map { matchesHost($0, in: text) } ?? false
  }

  private func matchesHost(_ named: AuthoritySpelling, in text: UnsafeRawBufferPointer) -> Bool {
    patterns.contains { $0.matches(named.host, in: text) }
  }

  private static func isPrefix(_ prefix: [UInt8], of path: UnsafeRawBufferPointer) -> Bool {
    guard path.count >= prefix.count else { return false }
    for (index, byte) in prefix.enumerated() where path[index] != byte { return false }
    if prefix.last == UInt8(ascii: "/") || path.count == prefix.count { return true }
    return path[prefix.count] == UInt8(ascii: "/") || path[prefix.count] == UInt8(ascii: "?")
  }

  /// Compares without regard to the case of ASCII letters; the left side must be in lower case.
  private static func equal(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
    left.count == right.count && zip(left, right).allSatisfy { $0 == ($1 &- 0x41 < 26 ? $1 | 0x20 : $1) }
  }
}
