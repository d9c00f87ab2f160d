extension LinkAddress {
  /// The host and port of an authority such as `127.0.0.1:7000`, `[::1]:80` or `user@host:22`.
  public struct HostPort: Sendable, Hashable {
    public var user: String?
    /// Without brackets.
    public var host: String
    public var port: Int?
  }

  /// The authority, split.
  /// - Throws: ``BywayError`` with code `invalidAddress` where there is none or it cannot be read.
  public func hostPort() throws -> HostPort {
    guard let authority, !authority.isEmpty else {
      throw BywayError(.invalidAddress, "\(text) names no host: write \(scheme)://HOST:PORT.")
    }
    guard let hostPort = HostPort(authority) else {
      throw BywayError(.invalidAddress, "\"\(authority)\" is no host and port: write HOST:PORT or [IPv6]:PORT.")
    }
    return hostPort
  }
}

extension LinkAddress.HostPort {
  /// `nil` where the text is no `[user@]host[:port]`.
  public init?(_ text: String) {
    var rest = text[...]
    if let at = rest.lastIndex(of: "@") {
      user = String(rest[..<at])
      rest = rest[rest.index(after: at)...]
    }
    var portText: Substring?
    if rest.hasPrefix("[") {
      guard let close = rest.firstIndex(of: "]") else { return nil }
      host = String(rest[rest.index(after: rest.startIndex)..<close])
      let tail = rest[rest.index(after: close)...]
      if !tail.isEmpty {
        guard tail.hasPrefix(":") else { return nil }
        portText = tail.dropFirst()
      }
    } else if let colon = rest.firstIndex(of: ":") {
      host = String(rest[..<colon])
      portText = rest[rest.index(after: colon)...]
    } else {
      host = String(rest)
    }
    if let portText {
      guard !portText.isEmpty, portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(portText)
      else { return nil }
      self.port = Int(port)
    }
    guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != 0x2F }) else { return nil }
  }
}
