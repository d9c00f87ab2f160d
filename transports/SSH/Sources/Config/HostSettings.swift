internal import Byway
internal import Logging

/// What the address and ssh_config say about one host, everything expanded.
struct HostSettings: Sendable, Hashable {
  enum KeyChecking: Sendable, Hashable {
    /// Only keys that are listed.
    case strict
    /// A host that is not listed at all is written down.
    case acceptNew
  }

  enum Agent: Sendable, Hashable {
    case none
    case socket(path: String)
  }

  /// One stop on the way (`ProxyJump`), to be resolved in its turn.
  struct Jump: Sendable, Hashable {
    var user: String?
    var host: String
    var port: Int?
  }

  /// As written in the address: what `Host` patterns match.
  var alias: String
  /// Where to connect.
  var host: String
  var port: Int
  var user: String
  /// Stops before the host, the first one first.
  var jumps: [Jump] = []

  /// The name to look for in known_hosts, where it is not the host (`HostKeyAlias`).
  var hostKeyAlias: String?
  var keyChecking = KeyChecking.strict
  var userKnownHosts: [String] = []
  var globalKnownHosts: [String] = []

  var agent = Agent.none
  /// Whether only keys named below are tried, though an agent may hold more.
  var identitiesOnly = false
  /// In the order to try; ``hasDefaultIdentities`` tells whether anybody named them.
  var identityFiles: [String] = []
  var hasDefaultIdentities = true
  var password: SecretSource?
  var passphrase: SecretSource?

  /// What ssh_config says that is not understood here, for the log: `/home/me/.ssh/config:12: Ciphers`.
  var ignored: [String] = []

  /// Reads the files, off the event loop, and expands what they say.
  ///
  /// - Parameters:
  ///   - user, port: as in the address.
  ///   - options: of the address; a stop on the way to a host (`Jump`) is resolved with that host's.
  static func resolve(
    alias: String, user: String?, port: Int?, options: LoginOptions
  ) async throws(BywayError) -> HostSettings {
    throw BywayError(.invalidAddress, "ssh: links cannot be resolved yet.")
  }
}
