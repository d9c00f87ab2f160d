import BywayHTTPWire

/// The origin of a web page (RFC 6454 §4).
struct PageOrigin: Sendable, Hashable {
  let scheme: String
  let host: Host
  /// `nil` if the scheme has no default port and none was given.
  let port: UInt16?

  init(scheme: String, _ authority: Authority) {
    self.scheme = scheme.lowercased()
    host = authority.host
    port = authority.port(for: self.scheme)
  }

  /// Reads the origin at the beginning of a URL; `nil` if the text is not one, such as `null`.
  /// - Parameter mayHavePath: whether more may follow the authority.
  init?(_ text: String, mayHavePath: Bool = false) {
    guard let separator = text.firstRange(of: "://") else { return nil }
    let rest = text[separator.upperBound...]
    let end = mayHavePath ? rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex : rest.endIndex
    let scheme = String(text[..<separator.lowerBound])
    guard let authority = try? Authority(String(rest[..<end])), scheme.utf8.allSatisfy(FieldGrammar.isTokenByte) else {
      return nil
    }
    self.init(scheme: scheme, authority)
  }
}

extension PageOrigin: CustomStringConvertible {
  var description: String { "\(scheme)://\(Authority(host, port: port).text(for: scheme))" }
}
