import Byway
import BywayDoctor
import Primitives

/// Checks that the next server is reachable through the one before it (ProxyJump).
struct SSHStopCheck: Check {
  static let title = "SSH server"

  let login: ExaminedLogin
  /// The index of the server, which is not the first.
  let index: Int

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    let (visit, before) = (login.visits[index], login.visits[index - 1])
    guard let error = login.stop(index).error, visit.identification.software == nil else {
      return .sound("\(visit.server) is \(visit.identification.software ?? "an SSH server"), behind \(before.server).")
    }
    switch error.evidence as? ChannelRefusal {
    case .prohibited:
      return .wrong(
        Diagnosis(
          .forwardingProhibited,
          "\(before.server) does not forward to \(visit.server): set AllowTcpForwarding yes in its sshd_config (and look at "
            + "PermitOpen), and run \"sudo systemctl reload ssh\" there."))
    case .connectFailed:
      return .wrong(
        Diagnosis(
          .nobodyListens,
          "\(before.server) cannot connect to \(visit.settings.host):\(visit.settings.port): start the SSH server there, or correct "
            + "its name and port as \(before.settings.alias) knows them."))
    case .unknownType, .shortage, nil:
      return .wrong(Diagnosis(notSSH: visit, error))
    }
  }
}

extension SSHVisit {
  /// The user and host, as arguments of ssh.
  var sshWords: String {
    "\(settings.port == 22 ? "" : "-p \(settings.port) ")\(ShellWord.of("\(settings.user)@\(settings.host)"))"
  }
}
