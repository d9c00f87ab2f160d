/// The settings for one host from the address and ssh_config, with everything expanded.
package struct HostSettings: Sendable, Hashable {
  package enum KeyChecking: Sendable, Hashable {
    /// Accepts listed keys only.
    case strict
    /// Adds the key of a host that is not listed at all.
    case acceptNew
  }

  /// A jump host (`ProxyJump`). It has settings of its own, which ``LoginOptions/forJump`` resolves. The settings of the
  /// first jump host may name further ones. Those that the others name are ignored.
  package struct Jump: Sendable, Hashable {
    package var user: String?
    package var host: String
    package var port: Int?
  }

  /// The host as written in the address. `Host` patterns match it.
  package var alias: String
  /// The host to connect to, in lower case.
  package var host: String
  package var port = 22
  package var user: String
  /// The jump hosts, in the order of connection.
  package var jumps: [Jump] = []

  /// The name to look up in known_hosts if it differs from the host (`HostKeyAlias`).
  package var hostKeyAlias: String?
  package var keyChecking = KeyChecking.strict
  package var userKnownHosts: [String] = []
  package var globalKnownHosts: [String] = []
  /// Whether new hosts are stored with hashed names (`HashKnownHosts`).
  package var hashesKnownHosts = false

  /// The agent's Unix socket.
  package var agentSocket: String?
  /// Whether only the keys named below are tried, even if an agent holds more.
  package var identitiesOnly = false
  /// The key files, in the order to try. ``hasDefaultIdentities`` is `false` if the user named them.
  package var identityFiles: [String] = []
  package var hasDefaultIdentities = true
  var password: SecretSource?
  var passphrase: SecretSource?
  /// Whether the user is never prompted (`BatchMode`).
  package var asksNobody = false

  /// The place of a ProxyCommand for the host in ssh_config. It is never run.
  package var proxyCommand: String?
  /// The places and keywords in ssh_config that are not understood, for the log: `/home/me/.ssh/config:12: Ciphers`.
  package var ignored: [String] = []
  /// The names of hosts in ssh_config, without patterns: suggestions for a mistyped name.
  package var aliases: [String] = []
}
