import Byway
import BywayPrimitives

/// Checks that the server opens the link's destination.
struct SSHChannelCheck: LinkCheck {
  static let title = "channel"

  let transport: SSHTransport
  let address: LinkAddress
  /// The error of the login that reached this point; `nil` if the channel opened.
  let error: BywayError?

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    let target = try SSHTarget(address)
    let host = target.login.host
    switch target.purpose {
    case .listen(_, let port):
      guard let error else {
        return .undecided("Whether \(host) listens on port \(port) is not tried: a running gateway may have it.")
      }
      return .wrong(Diagnosis(.notConnected, error.message))
    case .dial(let destination):
      guard let error else { return .sound("\(host) opens \(destination.words).") }
      let refusal = error.evidence as? ChannelRefusal
      if case .socket(let path) = destination, refusal == .connectFailed || refusal == .prohibited {
        let seen = await transport.farSocket(of: address, context: .ofExamination(within: .seconds(8)))
        return .wrong(diagnosis(of: path, seen, host, error))
      }
      return .wrong(diagnosis(refusal, destination, host, error))
    }
  }

  private func diagnosis(
    _ refusal: ChannelRefusal?, _ destination: SSHDestination, _ host: String, _ error: BywayError
  ) -> Diagnosis {
    switch (refusal, destination) {
    case (.prohibited, .port(let place, let port)), (.unknownType, .port(let place, let port)):
      .forbids("The SSH server on \(host)", place, port)
    case (.unknownType, .socket):
      .knowsNoSockets("The SSH server on \(host)")
    case (.connectFailed, .port(let place, let port)):
      .cannotConnect(host, place, port)
    default: Diagnosis(.notConnected, error.message)
    }
  }

  private func diagnosis(of path: String, _ seen: FarSocket?, _ host: String, _ error: BywayError) -> Diagnosis {
    switch seen {
    case .missing:
      Diagnosis(
        .noFile,
        "There is no socket \(path) on \(host): \(Advice.startGateway(listeningOn: "unix:\(path)")), or correct the path."
      )
    case .stale:
      Diagnosis(
        .nobodyListens,
        "No program seems to listen on \(path) on \(host) any more: "
          + "\(Advice.startGateway(listeningOn: "unix:\(path)")).")
    case .denied:
      Diagnosis(
        .noPermission,
        "This user may not connect to \(path) on \(host): give the gateway's link there a wider ?mode=, or log in as another user.",
        command: "ssh \(sshWords) ls -l \(ShellWord.of(path))")
    case .closed(let folder):
      Diagnosis(
        .noPermission,
        "This user may not look into \(folder) on \(host), where \(path) should be: log in as another user.",
        command: "ssh \(sshWords) ls -ld \(ShellWord.of(folder))")
    case .notASocket:
      Diagnosis(.notASocket, "\(path) on \(host) is not a socket: correct the path of the link, or the gateway's.")
    case .there:
      Diagnosis(
        .forwardingProhibited,
        "\(path) is there and this user may connect to it, so the SSH server on \(host) does not allow the connection: set "
          + "AllowStreamLocalForwarding yes in its sshd_config, and run \"sudo systemctl reload ssh\" there.")
    case nil: Diagnosis(.notConnected, error.message)
    }
  }

  private var sshWords: String { transport.journal?.hops.last?.sshWords ?? address.authority ?? "" }
}

extension SSHDestination {
  fileprivate var words: String {
    switch self {
    case .socket(let path): path
    case .port(let host, let port): "\(host):\(port)"
    case .command(let command): "a session for \"\(command.prefix(80))\""
    }
  }
}
