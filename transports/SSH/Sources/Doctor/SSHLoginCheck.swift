import Byway
import BywayLibC
import BywayPrimitives

/// Checks that the server lets this user log in.
struct SSHLoginCheck: LinkCheck {
  static let title = "login"

  let stop: ExaminedLogin.Stop

  private var hop: SSHHop { stop.hop }
  private var user: String { hop.settings.user }

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    if hop.stage >= .loggedIn {
      return .sound("\(user) is in\(hop.tried.last.map { " with \($0)" } ?? "").")
    }
    let error = (stop.error ?? SSHFailure(hop.settings).refusedLogin).message
    let diagnosis = hop.report.map { self.diagnosis($0, error) } ?? unfinished(error)
    // Without keys that stayed locked: the server has not seen a signature by them.
    let refused = hop.report?.tried ?? hop.tried
    let isNamed = refused.allSatisfy(diagnosis.sentence.contains)
    return .wrong(diagnosis, saw: isNamed ? nil : "Refused: \(refused.joined(separator: ", ")).")
  }

  /// The server or this end stopped the login before all keys were tried.
  private func unfinished(_ error: String) -> Diagnosis {
    guard hop.farewell?.contains("Too many authentication failures") == true else {
      return Diagnosis(.loginRefused, error)
    }
    return Diagnosis(
      .tooManyKeys,
      "\(hop.server) ended the login after \(hop.tried.count) keys (MaxAuthTries), none of which it takes: name the right one "
        + "in the link with identity=FILE, or with IdentityFile and IdentitiesOnly yes in ~/.ssh/config.")
  }

  /// Local causes come first: if a key cannot be used, there is no reason to look at the server.
  private func diagnosis(_ report: LoginReport, _ error: String) -> Diagnosis {
    if let locked = report.locked.first { return diagnosis(locked) }
    for loginProblem in report.problems {
      if let diagnosis = diagnosis(loginProblem) { return diagnosis }
    }
    if report.tried.isEmpty {
      for case .agent(let path, _) in report.problems where isWanted("publickey") {
        return Diagnosis(
          .noAgent, "\(error) The ssh-agent at \(path) cannot be reached: start one, and give it a key.",
          command: "eval \"$(ssh-agent)\" && ssh-add")
      }
    }
    if report.lacksPassword, !isWanted("publickey") {
      return Diagnosis(
        .passwordWanted,
        "\(hop.server) takes a password only (it accepts \(hop.offers.joined(separator: ", "))), and there was no way to ask for "
          + "it: run this in a terminal, or name the variable that holds it with password=env:NAME in the link.")
    }
    return Diagnosis(.loginRefused, error, command: isWanted("publickey") ? keyCommand(report) : nil)
  }

  private func isWanted(_ method: String) -> Bool { hop.offers.contains(method) }

  private func diagnosis(_ locked: LoginReport.LockedKey) -> Diagnosis {
    let add = "ssh-add \(ShellWord.of(locked.path))"
    return Diagnosis(.lockedKey, "\(locked.path): \(locked.problem).", command: add)
  }

  /// - Returns: `nil` if it is not a cause by itself.
  private func diagnosis(_ loginProblem: LoginProblem) -> Diagnosis? {
    switch loginProblem {
    case .file(let path, .exposed):
      Diagnosis(.exposedKey, "\(loginProblem)", command: "chmod 600 \(ShellWord.of(path))")
    case .file(let path, .file(.refused(.system(let problem)))) where problem.code == EACCES:
      Diagnosis(.noPermission, "\(loginProblem)", command: "ls -l \(ShellWord.of(path))")
    case .file(_, .file(.missing)):
      Diagnosis(
        .noKeyFile, "The key file \(loginProblem) Correct identity= in the link, or IdentityFile in ~/.ssh/config.")
    case .file(let path, .unsupported):
      Diagnosis(.unusableKey, "\(loginProblem)", command: "ssh-add \(ShellWord.of(path))")
    case .file: Diagnosis(.unusableKey, "\(loginProblem)")
    case .keyType(let path, _):
      Diagnosis(
        .unusableKey, "\(loginProblem) Create a key of a supported type.",
        command: "ssh-keygen -t ed25519 -f \(ShellWord.of(path + "_ed25519"))")
    case .publicHalf(let path):
      Diagnosis(
        .unusableKey, "\(loginProblem)",
        command: "ssh-add \(ShellWord.of(path.hasSuffix(".pub") ? String(path.dropLast(4)) : path))")
    case .signature(let error): Diagnosis(.unusableKey, error.message)
    case .agent, .agentKinds: nil
    }
  }

  /// A command that installs a key of this user on the server. The user needs another way to log in there.
  private func keyCommand(_ report: LoginReport) -> String {
    if report.tried.isEmpty { return "ssh-keygen -t ed25519 && ssh-copy-id \(hop.sshWords)" }
    let file = hop.settings.identityFiles.first { path in report.tried.contains { $0.hasPrefix(path) } }
    let identity = file.map { "-i \(ShellWord.of($0)) " } ?? ""
    return "ssh-copy-id \(identity)\(hop.sshWords)"
  }
}
