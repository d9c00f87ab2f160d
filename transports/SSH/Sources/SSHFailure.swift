import Byway
import BywayLibC
import NIOCore
import NIOPosix

/// The messages for failures, in the user's terms.
struct SSHFailure: Sendable {
  /// `user@host:port`.
  let server: String
  let user: String
  /// The place of a ProxyCommand for the server. It is not run.
  private var proxyCommand: String?

  init(server: String, user: String) {
    self.server = server
    self.user = user
  }

  init(_ settings: HostSettings) {
    let host = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
    server = "\(settings.user)@\(host)\(settings.port == 22 ? "" : ":\(settings.port)")"
    user = settings.user
    proxyCommand = settings.proxyCommand
  }

  // MARK: The way to the server

  func connecting(_ error: any Error) -> BywayError {
    // An error of a jump host already has its message.
    if let error = error as? BywayError { return error }
    var failure = ConnectFailure.error(error, connectingTo: server, of: "the SSH server")
    if let proxyCommand {
      failure.message +=
        " ssh would go by ProxyCommand (\(proxyCommand)), which byway does not run: write ProxyJump there, or let ssh "
        + "carry the link (exec:ssh HOST …)."
    }
    return failure
  }

  // MARK: The beginning of a session

  func handshaking(_ error: any Error, _ identification: ServerIdentification) -> BywayError {
    if let unexpectedPeer = identification.unexpectedPeer {
      return unavailable("\(server) is \(unexpectedPeer), not an SSH server: check the port.", error)
    }
    if identification.isTurningAway {
      return unavailable(
        "\(server) takes no more logins at present (\(identification.firstLine ?? "MaxStartups")): try again in a minute.",
        error)
    }
    guard let software = identification.software else {
      let what = identification.firstLine.map { ": it says \"\($0)\"" } ?? ""
      return unavailable("\(server) is not an SSH server\(what). Check the port.", error)
    }
    if let mismatch = identification.mismatch {
      return unavailable("\(server) (\(software)) and this end have no common \(mismatch)", error)
    }
    return unavailable("The key exchange with \(server) (\(software)) failed.", error)
  }

  func endedEarly(_ identification: ServerIdentification, farewell: String?) -> BywayError {
    if identification.unexpectedPeer != nil || (identification.software == nil && identification.firstLine != nil) {
      return handshaking(ChannelError.eof, identification)
    }
    if let farewell { return unavailable("\(server) ended the connection before login: \(farewell)") }
    guard let software = identification.software else {
      return unavailable(
        "\(server) ended the connection without saying why: is it an SSH server, and does it have connections left "
          + "(MaxStartups)?")
    }
    if let mismatch = identification.mismatch {
      return unavailable("\(server) (\(software)) and this end have no common \(mismatch)")
    }
    return unavailable("\(server) (\(software)) ended the connection before login: its log tells why.")
  }

  /// The server closed the connection during login. It often gives the reason (RFC 4252 §4).
  func cutOff(_ farewell: String?, tried: [String], _ cause: (any Error)?) -> BywayError {
    var message = "\(server) ended the connection before the login was done" + (farewell.map { ": \($0)." } ?? ".")
    if tried.count > 1 {
      message += " These were tried: \(tried.joined(separator: ", ")). Name the right key with identity=FILE."
    }
    return unavailable(message, cause)
  }

  var silence: BywayError {
    unavailable("\(server) accepted the connection and said nothing: is it an SSH server?")
  }

  func late(_ software: String) -> BywayError {
    unavailable("\(server) (\(software)) did not finish the key exchange in time.")
  }

  var lateLogin: BywayError {
    unavailable(
      "\(server) did not finish the login in time: is it waiting for a key to be confirmed or a password to be typed?")
  }

  /// The server gave no reason.
  var refusedLogin: BywayError { unavailable("\(server) refused the login.") }

  // MARK: Channels

  func opening(_ destination: SSHDestination, _ error: SSHError) -> BywayError {
    var failure = wordsForOpening(destination, error)
    failure.evidence = error.refusal
    return failure
  }

  private func wordsForOpening(_ destination: SSHDestination, _ error: SSHError) -> BywayError {
    switch (destination, error.refusal) {
    case (.socket(let path), .connectFailed):
      unavailable(
        "\(server) cannot connect to \(path) there: does something listen on it, may \(user) open it, and does the "
          + "server allow it (AllowStreamLocalForwarding)?", error)
    case (.socket, .unknownType):
      unavailable(Diagnosis.knowsNoSockets(server).sentence, error)
    case (.port(let host, let port), .connectFailed):
      unavailable(Diagnosis.cannotConnect(server, host, port).sentence, error)
    case (.port(let host, let port), .prohibited), (.port(let host, let port), .unknownType):
      unavailable(Diagnosis.forbids(server, host, port).sentence, error)
    case (.socket, .prohibited):
      unavailable("\(server) does not allow connections from there to sockets (AllowStreamLocalForwarding).", error)
    case (.command, .connectFailed), (.command, .shortage), (.command, .prohibited):
      unavailable(
        "\(server) does not open another session: its limit is reached (MaxSessions), or it allows none.", error)
    case (.command, _) where error.code == -22:
      unavailable("\(server) refused to run the command.", error)
    default:
      unavailable("\(server) opened no channel to \(Self.describe(destination)).", error)
    }
  }

  func lateOpening(_ destination: SSHDestination) -> BywayError {
    unavailable("\(server) did not open \(Self.describe(destination)) in time.")
  }

  func listening(host: String, port: Int, _ error: any Error) -> BywayError {
    unavailable(
      "\(server) does not listen on \(host):\(port) for this end: is the port taken, or below 1024, or does the server "
        + "not allow it (AllowTcpForwarding, PermitListen)?", error)
  }

  func lateListening(host: String, port: Int) -> BywayError {
    unavailable("\(server) did not answer in time whether it listens on \(host):\(port).")
  }

  func ended(_ command: String, _ exit: SSHChannel.Exit, lastWords: String?, hasSent: Bool) -> BywayError? {
    let how: String
    switch exit {
    case .status(0) where hasSent: return nil
    case .status(127): how = "was not found (status 127)"
    case .status(126): how = "is not executable (status 126)"
    case .status(let status): how = "exited with status \(status)"
    case .signal(let name): how = "was ended by SIG\(name)"
    }
    let words = lastWords.map { " Its last words: \($0)" } ?? ""
    let name = "\"\(command.prefix(80))\" on \(server)"
    var error =
      hasSent
      ? BywayError(.linkLost, "\(name) \(how).\(words)")
      : unavailable("\(name) \(how) before it sent a byte.\(words)")
    error.evidence = ProgramEnd(ProgramEnd.Exit(exit), lastWords: lastWords, hasSent: hasSent)
    return error
  }

  // MARK: The end of a session

  func lost(_ cause: (any Error)?, farewell: String?) -> BywayError {
    let why = farewell.map { ": \($0)" } ?? ": the server died, or the network went away"
    return BywayError(.linkLost, "The SSH connection to \(server) ended\(why).", cause: cause)
  }

  func unresponsive(_ silence: TimeAmount) -> BywayError {
    BywayError(.linkLost, "\(server) has not answered for \(silence.nanoseconds / 1_000_000_000) s.")
  }

  var overflow: BywayError {
    BywayError(
      .protocolViolation, "\(server) does not read the answers to its requests: the SSH connection was closed.")
  }

  private static func describe(_ destination: SSHDestination) -> String {
    switch destination {
    case .socket(let path): path
    case .port(let host, let port): "\(host):\(port)"
    case .command(let command): "\"\(command.prefix(80))\""
    }
  }

  func unavailable(_ message: String, _ cause: (any Error)? = nil) -> BywayError {
    BywayError(.linkUnavailable, message, processing: .none, cause: cause)
  }
}

extension ProgramEnd.Exit {
  fileprivate init(_ exit: SSHChannel.Exit) {
    switch exit {
    case .status(let status): self = .status(Int32(truncatingIfNeeded: status))
    case .signal(let name): self = .signal(name)
    }
  }
}
