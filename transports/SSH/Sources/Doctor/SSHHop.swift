/// A server on the path of a link, and what this end has learned of it so far.
package struct SSHHop: Sendable {
  /// The last step that succeeded, in order.
  package enum Stage: Sendable, Comparable {
    /// The settings are known.
    case settled
    case connected
    /// The key exchange is done.
    case agreed
    /// The host key is the expected one.
    case trusted
    case loggedIn
  }

  /// The host key that the server showed, and the verdict of known_hosts.
  package struct HostKey: Sendable {
    package let key: PublicKey
    package let verdict: KnownHosts.Verdict
  }

  package let settings: HostSettings
  /// `user@host:port`, as in messages.
  package let server: String
  package internal(set) var stage = Stage.settled
  package internal(set) var identification = ServerIdentification()
  /// The negotiated key exchange, host key, cipher and integrity algorithms.
  package internal(set) var agreement: String?
  package internal(set) var hostKey: HostKey?
  /// The login methods that the server offers (RFC 4252 §5.2).
  package internal(set) var offers: [String] = []
  /// The credentials tried, in order. After a login, the last one is the one accepted.
  package internal(set) var tried: [String] = []
  /// The report of a login in which the server refused everything.
  package internal(set) var report: LoginReport?
  /// The server's message when it closed the connection.
  package internal(set) var farewell: String?

  init(_ settings: HostSettings, server: String) {
    self.settings = settings
    self.server = server
  }
}
