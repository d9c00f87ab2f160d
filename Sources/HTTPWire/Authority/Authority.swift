/// Where a request goes: a host, and perhaps a port (RFC 3986 §3.2, RFC 9110 §7.2).
///
/// Two spellings of one place are equal. Everything that decides by a host or a port reads it here and nowhere else: two
/// readers that disagree let a request pass one of them and leave by the other.
package struct Authority: Sendable, Hashable {
  package let host: Host
  /// `nil` where none is named.
  package let port: UInt16?

  package init(_ host: Host, port: UInt16? = nil) {
    self.host = host
    self.port = port
  }

  /// Reads `HOST` or `HOST:PORT`.
  package init(_ text: String) throws(AuthorityFlaw) {
    self = try text.withBytes { bytes throws(AuthorityFlaw) in try Authority(bytes) }
  }

  package init(_ bytes: UnsafeRawBufferPointer) throws(AuthorityFlaw) {
    let spelling = try AuthoritySpelling(bytes)
    self.init(Host(spelling.host, in: bytes), port: spelling.port)
  }

  /// The port that is meant where none is named (RFC 9110 §4.2).
  package static func defaultPort(of scheme: String?) -> UInt16? {
    switch scheme {
    case "http", "ws": 80
    case "https", "wss": 443
    default: nil
    }
  }

  /// The port of a URL with that scheme; `nil` where none is named and the scheme has none.
  package func port(for scheme: String?) -> UInt16? {
    port ?? Self.defaultPort(of: scheme)
  }

  /// In a URL with that scheme: without its default port (RFC 9110 §4.2.3).
  package func text(for scheme: String?) -> String {
    port == Self.defaultPort(of: scheme) ? host.bracketed : description
  }
}

extension Authority: CustomStringConvertible {
  /// The one spelling.
  package var description: String { host.bracketed + (port.map { ":\($0)" } ?? "") }
}

extension Authority {
  /// Cuts off what stands before the host. It has no place in HTTP (RFC 9110 §4.2.4), and may hold a password.
  package static func splitUser(_ text: Substring) -> (user: Substring?, rest: Substring) {
    guard let at = text.utf8.lastIndex(of: UInt8(ascii: "@")) else { return (nil, text) }
    return (text[..<at], text[text.utf8.index(after: at)...])
  }
}

extension String {
  /// Its bytes in place; a copy only where it is not a native string.
  func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var text = self
    var result: Swift.Result<Result, Failure>?
    text.withUTF8 { bytes in
      do throws(Failure) {
        result = .success(try body(UnsafeRawBufferPointer(bytes)))
      } catch {
        result = .failure(error)
      }
    }
    switch result {
    case .some(let result): return try result.get()
    case nil: return try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
  }
}
