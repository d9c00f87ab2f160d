import ArgumentParser
import Byway
import BywayDaemon
import BywayLibC
import BywayPrimitives
import BywayTerminal

extension RootCommand {
  /// Without arguments: what runs and is plugged in, in a terminal. A program that reads the output gets the help.
  func run() async throws {
    guard StandardStream.output.isTerminal else { throw CleanExit.helpRequest(self) }
    let transports = CommandContext.transports
    var daemons: [Overview.Daemon] = []
    for place in ControlFolders.all().places { daemons.append(await Self.daemon(at: place, transports)) }
    let overview = Overview(
      daemons, ports: (try? transports.ports()) ?? [], service: Self.hasService, isRoot: geteuid() == 0,
      style: TextStyle(for: .output))
    try StandardStream.output.write(overview.lines.map { $0 + "\n" }.joined())
  }

  private static func daemon(at place: ControlFolders.Place, _ transports: TransportRegistry) async -> Overview.Daemon {
    guard access(place.socket, W_OK) == 0 else {
      return .silent(name: place.name, reason: "runs as another user")
    }
    do {
      let answer = try await ControlClient(place, transports: transports).send(.get, "/status")
      if let status = JSON(parsing: answer) { return .status(status) }
    } catch {}
    return .silent(name: place.name, reason: "does not answer")
  }

  /// Whether the package has installed the proxy for adapters, and systemd runs here.
  private static var hasService: Bool {
    access("/etc/byway/local.conf", F_OK) == 0 && access("/run/systemd/system", F_OK) == 0
  }
}
