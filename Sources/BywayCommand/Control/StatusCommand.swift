import ArgumentParser
import Byway
import BywayDaemon
import BywayDaemonProcess
import BywayPrimitives
import BywayTerminal

/// `byway status`
struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Shows the gateways and proxies that run here, their links, origins and requests.",
    discussion: """
      Asks the daemons of this user, and those of the system that this user can access. Each has a name: that of its \
      configuration file, or the value of --instance.
      """)

  @Argument(help: "Only this one.")
  var name: String?

  @Flag(help: "Write one JSON object for each, a line each.")
  var json = false

  @Flag(help: "Show them again each second, until Ctrl-C.")
  var watch = false

  func run() async throws {
    guard watch else {
      let (text, silent) = try await answers()
      try StandardStream.output.write(text)
      if !silent.isEmpty { throw ConfigurationErrors(failures: silent) }
      return
    }
    // Each status starts at the top of an empty screen.
    let clear = StandardStream.output.isTerminal && !json ? "\u{1B}[H\u{1B}[2J" : ""
    while true {
      let (text, silent) = try await answers()
      try StandardStream.output.write(clear + text)
      for failure in silent { StandardStream.error.writeLine("byway: \(failure.message)") }
      try await Task.sleep(for: .seconds(1))
    }
  }

  /// Returns the statuses of the daemons that answer, and the failures of the others.
  private func answers() async throws -> (text: String, silent: [CommandFailure]) {
    let transports = CommandContext.transports
    let places = ControlFolders.all().places.filter { name == nil || $0.name == name }
    guard !places.isEmpty else {
      // Its message lists the known names.
      _ = try ControlClient.named(name, transports: transports)
      return ("", [])
    }
    let style = TextStyle(for: .output)
    var text = ""
    var silent: [CommandFailure] = []
    for place in places {
      do {
        let answer = try await ControlClient(place, transports: transports).send(.get, "/status")
        guard let status = JSON(parsing: answer) else {
          throw CommandFailure(.unavailable, "\(place.name) answers with something that is not a status.")
        }
        guard !json else {
          text += "\(status)\n"
          continue
        }
        let lines = StatusText(status, now: WallTime.now().seconds, style: style).lines
        text += lines.map { $0 + "\n" }.joined()
      } catch {
        // The other daemons are shown nevertheless.
        silent.append(error.asFailure)
      }
    }
    return (text, silent)
  }
}
