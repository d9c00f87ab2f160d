import Byway
import BywayPrimitives

/// Checks that the next server is reachable through the one before it (ProxyJump).
struct SSHStopCheck: LinkCheck {
  static let title = "SSH server"

  let login: ExaminedLogin
  /// The index of the server, which is not the first.
  let index: Int

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    let (hop, before) = (login.hops[index], login.hops[index - 1])
    guard let error = login.stop(index).error, hop.identification.software == nil else {
      return .sound("\(hop.server) is \(hop.identification.software ?? "an SSH server"), behind \(before.server).")
    }
    switch error.evidence as? ChannelRefusal {
    case .prohibited:
      return .wrong(.forbids(before.server, hop.settings.host, hop.settings.port))
    case .connectFailed:
      return .wrong(
        Diagnosis(
          .nobodyListens,
          "\(before.server) cannot connect to \(hop.settings.host):\(hop.settings.port): start the SSH server there, or correct "
            + "its name and port as \(before.settings.alias) knows them."))
    case .unknownType, .shortage, nil:
      return .wrong(Diagnosis(notSSH: hop, error))
    }
  }
}

extension SSHHop {
  /// The user and host, as arguments of ssh.
  var sshWords: String {
    "\(settings.port == 22 ? "" : "-p \(settings.port) ")\(ShellWord.of("\(settings.user)@\(settings.host)"))"
  }
}
