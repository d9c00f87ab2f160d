/// What the address and ssh_config say about one host, everything expanded.
package struct HostSettings: Sendable, Hashable {
  package enum KeyChecking: Sendable, Hashable {
    /// Only keys that are listed.
    case strict
    /// A host that is not listed at all is written down.
    case acceptNew
  }

  /// One stop on the way (`ProxyJump`). It has settings of its own, which ``LoginOptions/forJump`` resolves; those of the
  /// first stop may name further stops, and those of the others count no more.
  package struct Jump: Sendable, Hashable {
    package var user: String?
    package var host: String
    package var port: Int?
  }

  /// As written in the address: what `Host` patterns match.
  package var alias: String
  /// Where to connect, in lower case.
  package var host: String
  package var port = 22
  package var user: String
  /// Stops before the host, the first one first.
  package var jumps: [Jump] = []

  /// The name to look for in known_hosts, where it is not the host (`HostKeyAlias`).
  package var hostKeyAlias: String?
  package var keyChecking = KeyChecking.strict
  package var userKnownHosts: [String] = []
  package var globalKnownHosts: [String] = []
  /// Whether new hosts are written down without telling their names (`HashKnownHosts`).
  package var hashesKnownHosts = false

  /// The agent's Unix socket.
  package var agentSocket: String?
  /// Whether only keys named below are tried, though an agent may hold more.
  package var identitiesOnly = false
  /// In the order to try; ``hasDefaultIdentities`` tells whether anybody named them.
  package var identityFiles: [String] = []
  package var hasDefaultIdentities = true
  var password: SecretSource?
  var passphrase: SecretSource?
  /// Whether a terminal is left alone (`BatchMode`).
  package var asksNobody = false

  /// Where ssh_config has a ProxyCommand for the host, which nothing here runs.
  package var proxyCommand: String?
  /// What ssh_config says that is not understood here, for the log: `/home/me/.ssh/config:12: Ciphers`.
  package var ignored: [String] = []
  /// What ssh_config calls hosts, patterns left out: the names that a mistyped one may have been meant for.
  package var aliases: [String] = []
}
