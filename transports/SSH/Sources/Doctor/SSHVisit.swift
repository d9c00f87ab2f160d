/// One server on the way to the far end of a link, and what this end has learned of it so far.
package struct SSHVisit: Sendable {
  /// The last thing that was well. Each comes after the one before.
  package enum Stage: Sendable, Comparable {
    /// It is known where to go.
    case settled
    case connected
    /// The key exchange is done.
    case agreed
    /// The host key is the one that is expected.
    case trusted
    case loggedIn
  }

  /// What known_hosts says of the key that was shown.
  package struct HostKey: Sendable {
    package let key: PublicKey
    package let verdict: KnownHosts.Verdict
  }

  package let settings: HostSettings
  /// `user@host:port`, as messages have it.
  package let server: String
  package internal(set) var stage = Stage.settled
  package internal(set) var identification = ServerIdentification()
  /// Key exchange, host key, encryption and integrity, as agreed on.
  package internal(set) var agreement: String?
  package internal(set) var hostKey: HostKey?
  /// The methods of logging in that the server offers (RFC 4252 §5.2).
  package internal(set) var offers: [String] = []
  /// What was tried to log in with, in this order; the last of them is what the server let in.
  package internal(set) var tried: [String] = []
  /// Where the server has refused everything.
  package internal(set) var report: LoginReport?
  /// What it said when it ended the connection.
  package internal(set) var farewell: String?

  init(_ settings: HostSettings, server: String) {
    self.settings = settings
    self.server = server
  }
}
