import Byway
import BywayLibC
import BywayPrimitives

/// Checks that no other program uses the port, because each byte goes to one reader only.
struct HolderCheck: LinkCheck {
  private static let logins: Set = ["agetty", "getty", "mgetty", "login"]

  static let title = "holder"

  let path: String
  let format: LineFormat

  func examine(_ resources: OpenedResources) async throws -> Finding<MediumState> {
    if let holder = PortProblem.holder(of: path) { return judge(holder) }
    if let login = try loginOfOthers() { return .wrong(self.login(login)) }
    do {
      // For programs of other users, the kernel reports only that the port is in use.
      try SerialPort(path: path, format: format).release()
    } catch let failure as SerialFailure {
      guard case .inUse = failure else { return .undecided("It cannot be opened: a later check says why.", .free) }
      return .wrong(failure.diagnosis)
    }
    return .sound("No other program uses it.", .free)
  }

  private func loginOfOthers() throws -> RunningProcess? {
    try FileStatus(of: path).isPseudoTerminal ? nil : RunningProcess(withTerminal: path)
  }

  private func judge(_ holder: RunningProcess) -> Finding<MediumState> {
    switch holder.name {
    case "byway": return .undecided("\(path) is in use by \(holder).", .taken(by: holder.id))
    case "ModemManager":
      return .wrong(
        Diagnosis(
          .modemManager,
          "ModemManager has \(path), as it tries new ports for about 10 s: wait, or install the udev rule "
            + "70-byway-serial.rules, which keeps it away.",
          command: "sudo systemctl stop ModemManager"))
    case let name? where Self.logins.contains(name): return .wrong(login(holder))
    default:
      return .wrong(
        Diagnosis(
          .inUse, "\(path) is in use by \(holder): stop that, or choose another port.", command: "kill \(holder.id)"))
    }
  }

  private func login(_ holder: RunningProcess) -> Diagnosis {
    let unit = "serial-getty@\(path.split(separator: "/").last ?? "").service"
    return Diagnosis(
      .loginHere, "A login of this machine has \(path) (\(holder)): stop it.",
      command: "sudo systemctl disable --now \(unit)",
      remedy: Remedy(question: "Stop the login on \(path) (\(unit)) until the next boot?") {
        let isStopped = await SystemCommand.run(["systemctl", "stop", unit], within: .seconds(10))
        return isStopped ? "Stopped \(unit)." : nil
      })
  }
}
