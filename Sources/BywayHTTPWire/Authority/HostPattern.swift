/// A pattern for the hosts of a rule: `HOST`, `*.DOMAIN` for all hosts below it, or `*`.
package enum HostPattern: Sendable, Hashable {
  case any
  /// The domain in lower case, with a leading dot.
  case below(String)
  case exactly(Host)

  package init(_ text: String) throws(AuthorityFlaw) {
    if text == "*" {
      self = .any
    } else if text.hasPrefix("*.") {
      guard case .name(let domain) = try Host(String(text.dropFirst(2))) else { throw .number }
      self = .below("." + domain)
    } else {
      self = .exactly(try Host(text))
    }
  }

  package func matches(_ host: Host) -> Bool {
    switch (self, host) {
    case (.any, _): true
    case (.exactly(let only), _): only == host
    case (.below(let suffix), .name(let name)): Self.ends(name.utf8, with: suffix)
    case (.below, _): false
    }
  }

  /// The same for a host parsed in place. Allocates nothing.
  package func matches(_ host: AuthoritySpelling.Host, in bytes: UnsafeRawBufferPointer) -> Bool {
    switch (self, host) {
    case (.any, _): true
    case (.exactly(.ipv4(let only)), .ipv4(let address)): only == address
    case (.exactly(.ipv6(let only)), .ipv6(let address)): only == address
    case (.exactly(.name(let only)), .name(let range)):
      range.count == only.utf8.count && Self.ends(bytes[range], with: only)
    case (.below(let suffix), .name(let range)): Self.ends(bytes[range], with: suffix)
    default: false
    }
  }

  /// Whether a name ends in a suffix, or equals it.
  private static func ends(_ name: some BidirectionalCollection<UInt8>, with suffix: String) -> Bool {
    name.count >= suffix.utf8.count
      && name.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) { $0.loweredASCII == $1 }
  }
}

extension HostPattern: CustomStringConvertible {
  package var description: String {
    switch self {
    case .any: "*"
    case .below(let suffix): "*" + suffix
    case .exactly(let host): host.text
    }
  }
}
