/// The target of a request: a host and an optional port (RFC 3986 §3.2, RFC 9110 §7.2).
///
/// Two spellings of the same target are equal. All code that decides by a host or port uses this parser. With two parsers that
/// disagree, a request could pass one check and be sent to another host.
package struct Authority: Sendable, Hashable {
  package let host: Host
  /// The port; `nil` if the text has none.
  package let port: UInt16?

  package init(_ host: Host, port: UInt16? = nil) {
    self.host = host
    self.port = port
  }

  /// Parses `HOST` or `HOST:PORT`.
  package init(_ text: String) throws(AuthorityFlaw) {
    self = try text.withBytes { bytes throws(AuthorityFlaw) in try Authority(bytes) }
  }

  package init(_ bytes: UnsafeRawBufferPointer) throws(AuthorityFlaw) {
    self.init(try AuthoritySpelling(bytes), in: bytes)
  }

  /// - Parameter bytes: the bytes that the spelling was parsed from.
  package init(_ spelling: AuthoritySpelling, in bytes: UnsafeRawBufferPointer) {
    self.init(Host(spelling.host, in: bytes), port: spelling.port)
  }

  /// The port that applies if none is given (RFC 9110 §4.2).
  package static func defaultPort(of scheme: String?) -> UInt16? {
    switch scheme {
    case "http", "ws": 80
    case "https", "wss": 443
    default: nil
    }
  }

  /// The port of a URL with that scheme; `nil` if none is given and the scheme has no default.
  package func port(for scheme: String?) -> UInt16? {
    port ?? Self.defaultPort(of: scheme)
  }

  /// The text in a URL with that scheme, without its default port (RFC 9110 §4.2.3).
  package func text(for scheme: String?) -> String {
    port == Self.defaultPort(of: scheme) ? host.bracketed : description
  }
}

extension Authority: CustomStringConvertible {
  /// The canonical spelling.
  package var description: String { host.bracketed + (port.map { ":\($0)" } ?? "") }
}

extension Authority {
  /// Splits off the user information before the host. It is not allowed in HTTP (RFC 9110 §4.2.4), and may contain a password.
  package static func splitUser(_ text: Substring) -> (user: Substring?, rest: Substring) {
    guard let at = text.utf8.lastIndex(of: UInt8(ascii: "@")) else { return (nil, text) }
    return (text[..<at], text[text.utf8.index(after: at)...])
  }
}

extension String {
  /// Passes the UTF-8 bytes to a closure. They are copied only if the string is not native.
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
