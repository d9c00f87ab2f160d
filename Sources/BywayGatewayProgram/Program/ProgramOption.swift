import BywayDaemonProcess

/// An option of byway-gateway. Each has the name, the values and the meaning of that of `byway gateway`.
struct ProgramOption: Sendable {
  /// The use of an option's value.
  enum Reading: Sendable {
    case flag(@Sendable (inout ProgramSettings) -> Void)
    /// An option that is given once. The function returns whether the value is valid.
    case one(String, @Sendable (inout ProgramSettings, String) -> Bool)
    /// An option that may be repeated.
    case many(String, @Sendable (inout ProgramSettings, String) -> Void)
  }

  let name: String
  let help: String
  let reading: Reading

  /// The name of the value in the help and in messages; `nil` for a flag.
  var valueName: String? {
    switch reading {
    case .flag: nil
    case .one(let name, _), .many(let name, _): name
    }
  }

  /// The option as the help and messages show it: `--drain <seconds>`.
  var usage: String { valueName.map { "\(name) <\($0)>" } ?? name }

  static let all: [ProgramOption] = [
    many("link", "link", "Accept HTTP on this link, an address; may be repeated.") { $0.gateway.links.append($1) },
    text(
      "origin", "origin",
      "Forward to http://HOST[:PORT], PORT, HOST:PORT, https://HOST[:PORT], unix:PATH, h2c://HOST[:PORT] or h2c+unix:PATH."
    ) { $0.gateway.origin = $1 },
    many("allow", "host:port", "What clients may reach besides the origin; may be repeated.") {
      $0.gateway.allow.append($1)
    },
    many("allow-upgrade", "protocol", "Requests may change to this protocol, too; may be repeated.") {
      $0.gateway.allowUpgrade.append($1)
    },
    text("name", "name", "The device's name, which /.well-known/byway states.") { $0.gateway.name = $1 },
    text("title", "text", "The title that users see next to the name.") { $0.gateway.title = $1 },
    many("trust", "file", "Trust the certificates in this file for an origin of https://; may be repeated.") {
      $0.gateway.peer.trust.append($1)
    },
    text("client-cert", "file", "Show this certificate to the origin if it asks for one.") {
      $0.gateway.peer.clientCertificate = $1
    },
    text("client-key", "file", "The private key of --client-cert.") { $0.gateway.peer.clientKey = $1 },
    text("peer-name", "name", "Expect this name in the origin's certificate.") { $0.gateway.peer.name = $1 },
    text("peer-address", "host[:port]", "Connect to this host instead of the origin's.") {
      $0.gateway.peer.address = $1
    },
    text(
      "upstream-proxy", "http://[user:password@]host:port",
      "Connect to the origin and to what is allowed through this HTTP proxy."
    ) { $0.gateway.upstreamProxy = $1 },
    text("host-field", "host", "The Host that the origin sees: client, origin or HOST[:PORT]. (default: client)") {
      $0.gateway.hostField = $1
    },
    ProgramOption(
      name: "--title-case", help: "Spell field names as X-Serial towards origins that compare case.",
      reading: .flag { $0.gateway.titleCase = true }),
    ProgramOption(
      name: "--forwarded", help: "Add Forwarded (RFC 7239) to requests.", reading: .flag { $0.gateway.forwarded = true }
    ),
    one("max-connections", "count", "How many links may be open at once. (default: 1024, or what fits)") {
      $0.gateway.maxConnections = Int($1)
      return $0.gateway.maxConnections != nil
    },
    seconds("connect-timeout", "How long a connection to the origin may take. (default: 10)") {
      $0.gateway.connectTimeout = $1
    },
    seconds("response-timeout", "How long the origin may take to answer. (default: 60)") {
      $0.gateway.responseTimeout = $1
    },
    seconds("body-timeout", "How long the origin may pause within a body of declared length. (default: 300)") {
      $0.gateway.bodyTimeout = $1
    },
    seconds("drain", "How long running requests may go on after SIGTERM. (default: 10)") { $0.drain = $1 },
    one("log-level", "level", "How much to log: \(LogLevel.names). (default: info)") {
      $0.logLevel = LogLevel(rawValue: $1)
      return $0.logLevel != nil
    },
    one("log-format", "format", "How the log looks: text, json or journal. (default: journal under systemd, else text)")
    {
      $0.logFormat = LogFormat(rawValue: $1)
      return $0.logFormat != nil
    },
    one("memory-budget", "size", "The most memory to hold for peers. (default: 64M, or a quarter of the process's)") {
      $0.memoryBudget = Size(argument: $1)
      return $0.memoryBudget != nil
    },
  ]

  /// The options that only `byway gateway` has.
  static let omitted: Set<String> = [
    "--access-log", "--access-log-format", "--auth", "--check", "--compress", "--config", "--inspect",
    "--inspect-bodies", "--inspect-secrets", "--instance", "--interceptor", "--interceptors", "--metrics",
    "--metrics-anywhere", "--record", "--replay", "--stub", "--trace",
  ]

  private static func one(
    _ name: String, _ value: String, _ help: String, _ read: @escaping @Sendable (inout ProgramSettings, String) -> Bool
  ) -> ProgramOption {
    ProgramOption(name: "--\(name)", help: help, reading: .one(value, read))
  }

  private static func many(
    _ name: String, _ value: String, _ help: String, _ read: @escaping @Sendable (inout ProgramSettings, String) -> Void
  ) -> ProgramOption {
    ProgramOption(name: "--\(name)", help: help, reading: .many(value, read))
  }

  /// An option whose value is checked later.
  private static func text(
    _ name: String, _ value: String, _ help: String, _ read: @escaping @Sendable (inout ProgramSettings, String) -> Void
  ) -> ProgramOption {
    one(name, value, help) {
      read(&$0, $1)
      return true
    }
  }

  private static func seconds(
    _ name: String, _ help: String, _ read: @escaping @Sendable (inout ProgramSettings, Seconds) -> Void
  ) -> ProgramOption {
    one(name, "seconds", help) {
      guard let seconds = Seconds(argument: $1) else { return false }
      read(&$0, seconds)
      return true
    }
  }
}
