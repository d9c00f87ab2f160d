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

  /// Returns the diagnosis, for the error of a connection and for the doctor.
  /// - Parameters:
  ///   - server: the expected peer.
  ///   - address: the link that led to it, if it is known.
  package func diagnosis(expecting server: ServerKind, on address: LinkAddress? = nil) -> Diagnosis {
    switch (self, server) {
    case (.echo, _):
      Diagnosis(
        .loopBack,
        "The far end echoes all bytes, or it dials too: start \(Advice.program(.gateway)) there, or add open=listen to the link at one end."
      )
    case (.webServer, .origin):
      Diagnosis(.webServer, "A web server of HTTP/1.1 answers: write http:// or unix: instead of h2c.")
    case (.webServer, _):
      Diagnosis(
        .webServer, "A web server answers, not a gateway: add ?http=1.1 to the link.",
        repair: address.map { .examine(link: $0.text + ($0.options.isEmpty ? "?" : "&") + "http=1.1") })
    case (.tls, .origin): Diagnosis(.wrongScheme, "A TLS server answers: write https:// instead of h2c://.")
    case (.tls, _):
      Diagnosis(
        .wrongScheme,
        "A TLS server answers: use a link of tls://, and name the authority of its certificate (ca=FILE).")
    case (.ssh, _):
      Diagnosis(
        .wrongScheme, "An SSH server answers: use a link of ssh://, with the target behind that server.")
    case (.mailServer, _): Diagnosis(.otherProgram, "A mail server answers: check the port.")
    case (.login, _):
      Diagnosis(
        .login, "A login prompt or a shell answers: start \(Advice.program(.gateway)) there instead.")
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
