import Byway

extension HostSettings {
  /// Reads the files off the event loop, and expands their values.
  ///
  /// - Parameters:
  ///   - alias, user, port: as in the address, or as in a ``Jump``.
  ///   - options: the options of the address. They take precedence over the files.
  /// - Throws: if a named file cannot be read, or a line that applies cannot be understood.
  static func resolve(
    alias: String, user: String?, port: Int?, options: LoginOptions, account: LocalAccount = .current()
  ) async throws(BywayError) -> HostSettings {
    try await Blocking.run { () throws(BywayError) in
      var reader = ConfigReader(alias: alias, account: account)
      switch options.config {
      case nil:
        try reader.read("\(account.home)/.ssh/config", .user)
        try reader.read("\(account.systemFolder)/ssh_config", .system)
      case "none": break
      case let file?: try reader.read(account.expandingHome(file), .named)
      }
      var values = reader.values
      values.user = user ?? values.user
      values.port = port ?? values.port
      var settings = HostSettings(alias: alias, values, options, account)
      settings.ignored = reader.ignored + settings.ignored
      settings.aliases = reader.aliases
      settings.proxyCommand = settings.jumps.isEmpty ? reader.proxyCommand : nil
      return settings
    }
  }

  private init(alias: String, _ values: ConfigValues, _ options: LoginOptions, _ account: LocalAccount) {
    let hostName = TokenExpansion(tokens: ["h": alias], variables: { _ in nil }).expand(values.hostName ?? "%h")
    self.init(alias: alias, host: (hostName ?? alias).lowercased(), user: values.user ?? account.user)
    port = values.port ?? 22
    jumps = values.jumps ?? []

    hostKeyAlias = values.hostKeyAlias
    keyChecking = options.keyChecking ?? values.keyChecking ?? .strict
    hashesKnownHosts = values.hashesKnownHosts ?? false
    identitiesOnly = options.identity != nil || values.identitiesOnly ?? false
    password = options.password
    passphrase = options.passphrase
    asksNobody = values.batchMode ?? false

    let tokens = TokenExpansion(
      tokens: [
        "d": account.home, "h": host, "i": "\(account.id)", "k": hostKeyAlias ?? alias, "l": account.machine,
        "L": String(account.machine.prefix { $0 != "." }), "n": alias, "p": "\(port)", "r": self.user,
        "u": account.user,
      ], variables: account.variables)
    var unknown: [String] = []
    func expand(_ path: String) -> String? {
      let expanded = tokens.expand(account.expandingHome(path))
      if expanded == nil { unknown.append("\(path): a token or a variable in it is unknown") }
      return expanded
    }
    let folder = "\(account.home)/.ssh"
    let system = account.systemFolder
    userKnownHosts =
      options.knownHosts.map { [account.expandingHome($0)] } ?? values.userKnownHosts?.compactMap(expand)
      ?? ["\(folder)/known_hosts", "\(folder)/known_hosts2"]
    globalKnownHosts =
      values.globalKnownHosts?.compactMap(expand) ?? ["\(system)/ssh_known_hosts", "\(system)/ssh_known_hosts2"]
    if let identity = options.identity {
      identityFiles = [account.expandingHome(identity)]
    } else {
      identityFiles = values.identityFiles.filter { $0.lowercased() != "none" }.compactMap(expand)
    }
    hasDefaultIdentities = options.identity == nil && values.identityFiles.isEmpty
    if hasDefaultIdentities { identityFiles = ["id_ed25519", "id_ecdsa", "id_rsa"].map { "\(folder)/\($0)" } }
    switch values.identityAgent {
    case nil, "SSH_AUTH_SOCK": agentSocket = account.variables("SSH_AUTH_SOCK")
    case "none": agentSocket = nil
    case let text? where text.hasPrefix("$") && !text.hasPrefix("${"):
      agentSocket = account.variables(String(text.dropFirst()))
    case let text?: agentSocket = expand(text)
    }
    if agentSocket == "" { agentSocket = nil }
    ignored = unknown
    if hostName == nil { ignored.append("HostName \(values.hostName ?? ""): a token in it is unknown") }
  }
}
