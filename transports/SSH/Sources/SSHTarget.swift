import Byway

/// The purpose of an `ssh:` address: where to log in, and what to do there.
struct SSHTarget: Sendable, Hashable {
  enum Purpose: Sendable, Hashable {
    /// Opens a channel to a destination.
    case dial(SSHDestination)
    /// Has the server listen on a port.
    case listen(host: String, port: Int)
  }

  let login: SSHLoginTarget
  let purpose: Purpose

  static let options = [
    LinkOption("tcp", "HOST:PORT to connect to from the far machine, instead of a socket's path"),
    LinkOption("command", "command to run on the far machine; its standard streams are the link"),
    LinkOption("listen", "[HOST:]PORT on the far machine on which its SSH server accepts for this end"),
  ]

  init(_ address: LinkAddress) throws(BywayError) {
    login = try SSHLoginTarget(address)
    var purposes: [Purpose] = []
    if !address.path.isEmpty, address.path != "/" {
      purposes.append(.dial(.socket(path: try Self.path(of: address))))
    }
    if let text = address[option: "tcp"] { purposes.append(.dial(try Self.port(text))) }
    if let command = address[option: "command"] {
      guard !command.isEmpty, !command.utf8.contains(0) else {
        throw BywayError(.invalidAddress, "command= is empty: write the command to run on \(login.host).")
      }
      purposes.append(.dial(.command(command)))
    }
    if let text = address[option: "listen"] { purposes.append(try Self.listening(text)) }
    guard let purpose = purposes.first, purposes.count == 1 else {
      let problem = purposes.isEmpty ? "does not say where to go" : "says more than one place to go"
      throw BywayError(
        .invalidAddress,
        "\(address) \(problem) on \(login.host): write the path of a socket after the host, or one of ?tcp=HOST:PORT, "
          + "?command=… and ?listen=PORT.")
    }
    self.purpose = purpose
  }

  private static func path(of address: LinkAddress) throws(BywayError) -> String {
    // sun_path has 108 bytes, the last of which is a zero (unix(7)).
    guard address.path.utf8.count < 108, !address.path.utf8.contains(0) else {
      throw BywayError(.invalidAddress, "The path in \(address) is longer than the 107 bytes that a socket's can have.")
    }
    return address.path
  }

  private static func port(_ text: String) throws(BywayError) -> SSHDestination {
    guard let place = LinkAddress.HostPort(text), place.user == nil, let port = place.port, port > 0 else {
      throw BywayError(.invalidAddress, "tcp=\(text) is not a host and port: write tcp=127.0.0.1:80, for example.")
    }
    return .port(host: place.host, port: port)
  }

  private static func listening(_ text: String) throws(BywayError) -> Purpose {
    if text.hasPrefix("/") {
      throw BywayError(
        .invalidAddress,
        "listen=\(text) is a path, but SSH can only listen on ports: write listen=PORT, or listen=HOST:PORT.")
    }
    if let port = UInt16(text) { return .listen(host: "localhost", port: Int(port)) }
    guard let place = LinkAddress.HostPort(text), place.user == nil, let port = place.port else {
      throw BywayError(.invalidAddress, "listen=\(text) is not a port: write listen=8080, or listen=HOST:PORT.")
    }
    return .listen(host: place.host, port: port)
  }
}

/// The login that an address asks for. Links with equal targets share a session.
struct SSHLoginTarget: Sendable, Hashable {
  var user: String?
  var host: String
  var port: Int?
  var options: LoginOptions
  /// The jump hosts; `nil` takes them from the configuration.
  var jumps: [HostSettings.Jump]?

  init(user: String?, host: String, port: Int?, options: LoginOptions, jumps: [HostSettings.Jump]?) {
    self.user = user
    self.host = host
    self.port = port
    self.options = options
    self.jumps = jumps
  }

  init(_ address: LinkAddress) throws(BywayError) {
    let place: LinkAddress.HostPort
    do {
      place = try address.hostPort()
    } catch {
      throw BywayError(
        .invalidAddress, "\(address) has no host: write ssh://[USER@]HOST[:PORT]/PATH, for example.", cause: error)
    }
    guard place.port != 0, place.user != "", !place.host.hasPrefix("-") else {
      throw BywayError(.invalidAddress, "\(address) has no host: write ssh://[USER@]HOST[:PORT]/PATH, for example.")
    }
    user = place.user
    host = place.host
    port = place.port
    options = try LoginOptions(address)
  }
}
