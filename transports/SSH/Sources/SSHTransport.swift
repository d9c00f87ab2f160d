public import Byway
public import NIOCore

/// A transport for links through an SSH login: `ssh://user@host/run/byway.sock`, `ssh://user@host?tcp=127.0.0.1:80` and
/// `ssh://user@host?command=…`. With `ssh://user@host?listen=8080` the SSH server accepts connections for this end.
///
/// Links to the same user, host and port share one SSH connection. The servers and users are those of OpenSSH: known_hosts,
/// ~/.ssh/config, keys and the agent are used as `ssh` uses them.
public struct SSHTransport: Transport {
  public let scheme = "ssh"
  public let forms = [
    AddressForm("ssh://USER@HOST/PATH", "a socket behind an SSH login"),
    AddressForm("ssh://USER@HOST?tcp=HOST:PORT", "a port behind an SSH login"),
  ]
  public let crossesNetwork = true
  public let options: [LinkOption] = SSHTarget.options + LoginOptions.all
  let pool: SSHSessionPool

  /// Creates a transport without any logins. Copies of it share their logins.
  public init() {
    self.init(SSHLimits())
  }

  init(_ limits: SSHLimits) {
    pool = SSHSessionPool(limits)
  }

  /// Creates a transport whose sessions keep a journal.
  package init(keeping journal: SSHJournal) {
    pool = SSHSessionPool(.ofExaminations, journal: journal)
  }

  var journal: SSHJournal? { pool.journal }

  /// Logs in without opening a channel.
  func logIn(to login: SSHLoginTarget, context: LinkContext) async throws {
    try await pool.logIn(to: login, on: context.group, by: context.deadline, logger: context.logger)
  }

  public func check(_ address: LinkAddress) throws {
    _ = try SSHTarget(address)
  }

  /// Checks that the address says where to dial, or where to listen.
  public func check(_ address: LinkAddress, for opening: Link.Opening) throws {
    let target = try SSHTarget(address)
    switch opening {
    case .dial: _ = try Self.destination(of: target, address)
    case .listen: _ = try Self.listening(of: target, address)
    }
  }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    let target = try SSHTarget(address)
    return try await pool.open(
      Self.destination(of: target, address), of: target.login, on: context.group, by: context.deadline,
      logger: context.logger)
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let target = try SSHTarget(address)
    let (host, port) = try Self.listening(of: target, address)
    return try await RemoteListener.start(
      on: address, host: host, port: port, of: target.login, pool: pool, context: context)
  }

  private static func destination(of target: SSHTarget, _ address: LinkAddress) throws -> SSHDestination {
    if case .dial(let destination) = target.purpose { return destination }
    throw BywayError(
      .invalidAddress,
      "\(address) is for the end that listens there: dial with tcp: on \(target.login.host), or with ?tcp=HOST:PORT from here."
    )
  }

  private static func listening(of target: SSHTarget, _ address: LinkAddress) throws -> (host: String, port: Int) {
    if case .listen(let host, let port) = target.purpose { return (host, port) }
    throw BywayError(
      .invalidAddress,
      "\(address) says where to dial: add open=dial, or to have \(target.login.host) listen, write ?listen=PORT.")
  }
}
