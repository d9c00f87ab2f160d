package import BywayHTTPWire

extension LinkAddress {
  /// The host and port of an address such as `127.0.0.1:7000`, `[::1]:80`, `[fe80::1%eth0]:80` or `user@host:22`.
  public struct HostPort: Sendable, Hashable {
    /// The part before the `@`; `nil` if there is none.
    public var user: String?
    /// The host as written, without brackets: a resolver or a configuration file may need that spelling.
    public var host: String
    /// The port, 0 to 65,535; `nil` if there is none.
    public var port: Int?
  }

  /// Splits the authority.
  /// - Throws: ``BywayError`` with code `invalidAddress` if there is none or it is invalid.
  public func hostPort() throws -> HostPort {
    guard let authority, !authority.isEmpty else {
      throw BywayError(.invalidAddress, "\(text) has no host: write \(scheme)://HOST:PORT.")
    }
    do throws(AuthorityFlaw) {
      return try HostPort(reading: authority)
    } catch {
      throw BywayError(.invalidAddress, place: authority, error)
    }
  }
}

extension LinkAddress.HostPort: CustomStringConvertible {
  package init(host: String, port: Int?) {
    self.host = host
    self.port = port
  }

  /// The text as written in an address.
  public var description: String {
    (user.map { "\($0)@" } ?? "") + (host.contains(":") ? "[\(host)]" : host) + (port.map { ":\($0)" } ?? "")
  }

  /// Returns `nil` if the text is not `[user@]host[:port]`.
  package init?(_ text: String) {
    try? self.init(reading: text)
  }

  fileprivate init(reading text: String) throws(AuthorityFlaw) {
    let (user, place) = Authority.splitUser(text[...])
    let (zone, rest) = Self.splitZone(place)
    let authority = try Authority(rest)
    self.user = user.map(String.init)
    port = authority.port.map(Int.init)
    if case .ipv6 = authority.host {
      host = authority.host.text + zone
    } else {
      host = String(rest.prefix { $0 != ":" })
    }
  }

  /// Splits `[fe80::1%eth0]`: the address of a neighbour is unique only with its interface (RFC 9844).
  private static func splitZone(_ place: Substring) -> (zone: String, rest: String) {
    guard place.hasPrefix("["), let close = place.firstIndex(of: "]"),
      let percent = place[..<close].firstIndex(of: "%")
    else { return ("", String(place)) }
    let zone = place[percent..<close]
    let isName = zone.utf8.dropFirst().allSatisfy { FieldGrammar.isTokenByte($0) && $0 != UInt8(ascii: "%") }
    guard zone.utf8.count > 1, isName else { return ("", String(place)) }
    return (String(zone), String(place[..<percent] + place[close...]))
  }
}

extension BywayError {
  /// Describes an invalid host name. Leaves out a user in front of it, which may contain a password.
  package init(_ code: Code, place text: String, _ flaw: AuthorityFlaw) {
    let place = Authority.splitUser(text[...]).rest
    let shown = place.utf8.count > 80 ? "\(place.prefix(80))…" : String(place)
    self.init(code, "\"\(shown)\" is not a host, nor a host and port: \(flaw).", processing: .none)
  }
}
