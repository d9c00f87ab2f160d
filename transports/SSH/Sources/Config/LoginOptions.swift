import Byway

/// The options of an address that concern trust, configuration and login.
struct LoginOptions: Sendable, Hashable {
  static let all = [
    LinkOption("identity", "private key file to log in with; only this one is tried, from the file or from the agent"),
    LinkOption("known_hosts", "file of the host keys to trust, instead of ~/.ssh/known_hosts"),
    LinkOption("config", "configuration file to read instead of ~/.ssh/config and /etc/ssh/ssh_config; none for none"),
    LinkOption("host-key-checking", "strict (the default), or accept-new to add a host that is not listed"),
    LinkOption("password", "env:NAME, the environment variable that holds the password"),
    LinkOption("passphrase", "env:NAME, the environment variable that holds the key file's passphrase"),
  ]

  var identity: String?
  var knownHosts: String?
  var config: String?
  var keyChecking: HostSettings.KeyChecking?
  var password: SecretSource?
  var passphrase: SecretSource?

  init() {}

  /// The options for a jump host: the same files and the same trust. A password is for the target host only.
  var forJump: LoginOptions {
    var options = self
    options.password = nil
    return options
  }

  init(_ address: LinkAddress) throws(BywayError) {
    for option in Self.all where address[option: option.name] == "" {
      throw BywayError(.invalidAddress, "\(option.name)= is empty: give it a value, or leave it out.")
    }
    identity = address[option: "identity"]
    knownHosts = address[option: "known_hosts"]
    config = address[option: "config"]
    switch address[option: "host-key-checking"] {
    case nil: break
    case "strict": keyChecking = .strict
    case "accept-new": keyChecking = .acceptNew
    case let value?:
      throw BywayError(
        .invalidAddress, "host-key-checking=\(value) is unknown: write strict or accept-new.")
    }
    if let text = address[option: "password"] { password = try SecretSource(text, option: "password") }
    if let text = address[option: "passphrase"] { passphrase = try SecretSource(text, option: "passphrase") }
  }
}
