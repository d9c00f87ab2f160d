import BywayPrimitives
import Foundation
import FoundationNetworking

/// The content of a `Set-Cookie` field (RFC 6265 §5.2). Foundation's own parser ignores `Max-Age`, splits at commas, and
/// accepts every domain.
struct SetCookie: Equatable {
  private static let sizeLimit = 4096

  let name: String
  let value: String
  /// The domain in lower case, without a leading dot; `nil`: the host that sent it.
  private(set) var domain: String?
  private(set) var path: String?
  private(set) var expires: String?
  /// The maximum age in seconds.
  private(set) var maximumAge: Int?
  private(set) var isSecure = false
  private(set) var isHTTPOnly = false

  /// Returns `nil` if the text is not a cookie, or too long to be kept (§6.1).
  init?(_ text: String) {
    let parts = text.split(separator: ";", omittingEmptySubsequences: false)
    guard let pair = parts.first, let equals = pair.firstIndex(of: "=") else { return nil }
    name = pair[..<equals].trimmed
    value = pair[pair.index(after: equals)...].trimmed
    guard !name.isEmpty, name.utf8.count + value.utf8.count <= Self.sizeLimit else { return nil }
    for part in parts.dropFirst() {
      let key = part.prefix { $0 != "=" }
      add(key.trimmed.lowercased(), part.dropFirst(key.count + 1).trimmed)
    }
  }

  /// Adds an attribute. The last one of each name counts.
  private mutating func add(_ attribute: String, _ value: String) {
    switch attribute {
    case "domain":
      let name = String(value.hasPrefix(".") ? value.dropFirst() : value[...]).lowercased()
      domain = name.isEmpty ? nil : name
    case "path": path = value.hasPrefix("/") ? value : nil
    case "expires": expires = value
    case "max-age":
      let digits = value.hasPrefix("-") ? value.dropFirst() : value[...]
      guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return }
      maximumAge = value.hasPrefix("-") ? 0 : min(Int(digits) ?? .max, 1 << 31)
    case "secure": isSecure = true
    case "httponly": isHTTPOnly = true
    default: break
    }
  }
}

extension SetCookie {
  /// Returns the cookie to store (§5.3); `nil` if the host may not set it.
  /// - Parameters:
  ///   - host: the host in lower case.
  ///   - requested: the path of the request.
  func cookie(from host: String, at requested: String, now: Date) -> HTTPCookie? {
    guard let place = Self.domain(domain, of: host) else { return nil }
    var properties: [HTTPCookiePropertyKey: Any] = [
      .name: name, .value: value, .domain: place, .path: path ?? Self.defaultPath(requested),
    ]
    if let date = expiry(now) { properties[.expires] = date }
    if isSecure { properties[.secure] = "TRUE" }
    if isHTTPOnly { properties[.init("HttpOnly")] = "TRUE" }
    return HTTPCookie(properties: properties)
  }

  /// Returns the domain with a leading dot, which is Foundation's mark for domains that include their subdomains; the host
  /// alone; or `nil`.
  private static func domain(_ domain: String?, of host: String) -> String? {
    guard let domain else { return host }
    guard domain.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
    if domain == host, PublicSuffixes.contain(domain) { return host }
    return PublicSuffixes.permit(host, toSetCookiesFor: domain)
      ? (HostAddress.isAddress(host) ? host : "." + domain) : nil
  }

  private static let anywhere = URL(string: "http://a/") ?? URL(filePath: "/")

  /// Returns the expiry time; `nil` if the cookie lasts as long as the session.
  private func expiry(_ now: Date) -> Date? {
    if let maximumAge { return maximumAge > 0 ? now + Double(maximumAge) : .distantPast }
    // Foundation parses dates correctly.
    return expires.flatMap { text in
      HTTPCookie.cookies(
        withResponseHeaderFields: ["Set-Cookie": "a=b; Expires=\(text)"], for: Self.anywhere
      ).first?.expiresDate
    }
  }

  /// The default path of a cookie (§5.1.4).
  private static func defaultPath(_ requested: String) -> String {
    let path = requested.prefix { $0 != "?" && $0 != "#" }
    guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }
}
