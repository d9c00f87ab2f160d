package import HTTPWire

extension LinkAddress {
  /// The host and port of an address such as `127.0.0.1:7000`, `[::1]:80`, `[fe80::1%eth0]:80` or `user@host:22`.
  public struct HostPort: Sendable, Hashable {
    /// What stands before the `@`; `nil` where there is none.
    public var user: String?
    /// As written, without brackets: a resolver or a configuration file may know it by just that.
    public var host: String
    /// 0 to 65,535; `nil` where none is written.
    public var port: Int?
  }

  /// The authority, split.
  /// - Throws: ``BywayError`` with code `invalidAddress` where there is none or it cannot be read.
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

  /// As an address has it.
  public var description: String {
    (user.map { "\($0)@" } ?? "") + (host.contains(":") ? "[\(host)]" : host) + (port.map { ":\($0)" } ?? "")
  }

  /// `nil` where the text is no `[user@]host[:port]`.
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

  /// `[fe80::1%eth0]`: a link may lead to a neighbour, whom only the interface tells apart (RFC 9844).
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
  /// What is wrong with the name of a place. A user in front of it is not repeated: it may be a password.
  package init(_ code: Code, place text: String, _ flaw: AuthorityFlaw) {
    let place = Authority.splitUser(text[...]).rest
    let shown = place.utf8.count > 80 ? "\(place.prefix(80))…" : String(place)
    self.init(code, "\"\(shown)\" is not a host, nor a host and port: \(flaw).", processing: .none)
  }
}
