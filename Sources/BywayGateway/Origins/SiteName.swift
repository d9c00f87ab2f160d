import Byway
import BywayHTTPWire

/// The name of a site in URLs: a scheme and an authority.
struct SiteName: Sendable, Hashable {
  let scheme: String
  let authority: Authority
  /// The authority as written in a URL with this scheme.
  let authorityText: String

  init(scheme: String, _ authority: Authority) {
    self.scheme = scheme
    self.authority = authority
    authorityText = authority.text(for: scheme)
  }

  /// Reads the name in a client's request.
  /// - Returns: `nil` if the request has no authority.
  init?(of request: borrowing ExchangeHead) {
    guard let authority = request.authority else { return nil }
    self.init(scheme: request.schemeName, authority)
  }

  /// Finds the end of this name at the beginning of a URL (RFC 3986 §4.1), or of a reference that leaves out the scheme (§4.2).
  /// - Returns: where the rest of the URL begins, and whether it has a scheme; `nil` if it names another site, or none.
  func match(_ url: UnsafeRawBufferPointer) -> (end: Int, hasScheme: Bool)? {
    var start = 0
    if let colon = url.firstIndex(of: UInt8(ascii: ":")), url[..<colon].allSatisfy({ !Self.delimiters.contains($0) }) {
      guard String(decoding: url[..<colon], as: UTF8.self).lowercased() == scheme else { return nil }
      start = colon + 1
    }
    guard url.count >= start + 2, url[start] == UInt8(ascii: "/"), url[start + 1] == UInt8(ascii: "/") else {
      return nil
    }
    let end = url[(start + 2)...].firstIndex(where: Self.delimiters.contains) ?? url.count
    guard let named = try? Authority(UnsafeRawBufferPointer(rebasing: url[(start + 2)..<end])),
      named.host == authority.host, named.port(for: scheme) == authority.port(for: scheme)
    else { return nil }
    return (end, start > 0)
  }

  /// Whether an `Origin` or `Referer` names this authority, with any scheme: applications may compare only that with `Host`.
  func isClaimed(by url: UnsafeRawBufferPointer) -> Bool {
    guard let colon = url.firstIndex(of: UInt8(ascii: ":")) else { return false }
    let rest = UnsafeRawBufferPointer(rebasing: url[colon...].dropFirst())
    guard rest.starts(with: "//".utf8) else { return false }
    let end = rest.dropFirst(2).firstIndex(where: Self.delimiters.contains) ?? rest.count
    guard let named = try? Authority(UnsafeRawBufferPointer(rebasing: rest[2..<end])) else { return false }
    let claimed = String(decoding: url[..<colon], as: UTF8.self).lowercased()
    return named.host == authority.host
      && (named.port == authority.port || named.port(for: claimed) == authority.port(for: scheme))
  }

  /// The bytes that end an authority in a URL, or in a field that contains a URL.
  private static let delimiters = Array("/?#\\\"'<>;, \t".utf8)
}
