import BywayHTTPWire

/// An unexpected kind of peer, as identified by its first bytes.
package enum UnexpectedPeer: Sendable, Hashable {
  /// An echo of this end's own bytes, or a client that sends the same ones.
  case echo
  case webServer
  case tls
  case ssh
  case mailServer
  /// A login prompt or a shell.
  case login

  /// Returns `nil` if the bytes identify no known kind.
  package init?(_ heard: some Collection<UInt8>) {
    func begins(_ text: String) -> Bool { heard.starts(with: text.utf8, by: { $0 | 0x20 == $1 | 0x20 }) }
    // An alert or a handshake, of any version (RFC 8446 §5.1).
    if [0x15, 0x16].contains(heard.first), heard.dropFirst().first == 3 {
      self = .tls
    } else if begins("PRI * HTTP/2.0") {
      self = .echo
    } else if begins("SSH-") {
      self = .ssh
    } else if begins("HTTP/1.") || begins("<!doctype") || begins("<html") {
      self = .webServer
    } else if begins("220 ") || begins("220-"), String(decoding: heard, as: UTF8.self).uppercased().contains("SMTP") {
      self = .mailServer
    } else if Self.isPrompt(String(decoding: heard, as: UTF8.self).lowercased()) {
      self = .login
    } else {
      return nil
    }
  }

  private static func isPrompt(_ text: String) -> Bool {
    ["login:", "password:", "command not found", "$ ", "# "].contains { text.contains($0) }
  }

  /// Returns what to try.
  /// - Parameter server: the expected peer.
  func advice(expecting server: ServerKind) -> String {
    switch (self, server) {
    case (.echo, _):
      "It echoes what is sent to it, or it dials too: start \(Advice.program(.gateway)) there, or add open=listen to the link at one end."
    case (.webServer, .origin): "If it is a web server of HTTP/1.1, write http:// or unix: instead of h2c."
    case (.webServer, _): "If it is a web server, add ?http=1.1 to the link."
    case (.tls, .origin): "It speaks TLS: write https:// instead of h2c://."
    case (.tls, _): "It speaks TLS: use a link of tls://."
    case (.ssh, _): "It is an SSH server: use a link of ssh://."
    case (.mailServer, _): "It is a mail server: check the port."
    case (.login, _): "A login prompt or a shell answers: start \(Advice.program(.gateway)) there instead."
    }
  }
}

extension UnexpectedPeer: CustomStringConvertible {
  /// A phrase to follow "is".
  package var description: String {
    switch self {
    case .echo: "an echo of this end's own bytes, or another client"
    case .webServer: "a web server"
    case .tls: "a TLS server"
    case .ssh: "an SSH server"
    case .mailServer: "a mail server"
    case .login: "a login prompt or a shell"
    }
  }
}

/// The first bytes of a peer that does not speak the expected protocol: additional evidence of an error.
package struct UnexpectedBytes: Sendable, Hashable {
  package let heard: [UInt8]

  package init(heard: [UInt8]) {
    self.heard = heard
  }

  package var unexpectedPeer: UnexpectedPeer? { UnexpectedPeer(heard) }

  /// Whether it starts with SETTINGS, a server's first frame of HTTP/2 (RFC 9113 §3.4): a short length, and its type.
  package var isHTTP2: Bool { heard.count >= 4 && heard[0] == 0 && heard[3] == 4 }
}
