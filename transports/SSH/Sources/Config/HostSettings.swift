/// What the address and ssh_config say about one host, everything expanded.
struct HostSettings: Sendable, Hashable {
  enum KeyChecking: Sendable, Hashable {
    /// Only keys that are listed.
    case strict
    /// A host that is not listed at all is written down.
    case acceptNew
  }

  /// One stop on the way (`ProxyJump`). It has settings of its own, which ``LoginOptions/forJump`` resolves; those of the
  /// first stop may name further stops, and those of the others count no more.
  struct Jump: Sendable, Hashable {
    var user: String?
    var host: String
    var port: Int?
  }

  /// As written in the address: what `Host` patterns match.
  var alias: String
  /// Where to connect, in lower case.
  var host: String
  var port = 22
  var user: String
  /// Stops before the host, the first one first.
  var jumps: [Jump] = []

  /// The name to look for in known_hosts, where it is not the host (`HostKeyAlias`).
  var hostKeyAlias: String?
  var keyChecking = KeyChecking.strict
  var userKnownHosts: [String] = []
  var globalKnownHosts: [String] = []
  /// Whether new hosts are written down without telling their names (`HashKnownHosts`).
  var hashesKnownHosts = false

  /// The agent's Unix socket.
  var agentSocket: String?
  /// Whether only keys named below are tried, though an agent may hold more.
  var identitiesOnly = false
  /// In the order to try; ``hasDefaultIdentities`` tells whether anybody named them.
  var identityFiles: [String] = []
  var hasDefaultIdentities = true
  var password: SecretSource?
  var passphrase: SecretSource?
  /// Whether a terminal is left alone (`BatchMode`).
  var asksNobody = false

  /// Where ssh_config has a ProxyCommand for the host, which nothing here runs.
  var proxyCommand: String?
  /// What ssh_config says that is not understood here, for the log: `/home/me/.ssh/config:12: Ciphers`.
  var ignored: [String] = []
}
