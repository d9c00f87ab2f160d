import ArgumentParser
import Byway
import Primitives

/// `byway status`
struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Shows the gateways and proxies that run here, their links, origins and requests.",
    discussion: """
      Asks those of this user, and those of the system that this user may ask. Each has a name: that of its configuration \
      file, or what --instance says.
      """)

  @Argument(help: "Only this one.")
  var name: String?

  @Flag(help: "Write one JSON object for each, a line each.")
  var json = false

  @Flag(help: "Show them again each second, until Ctrl-C.")
  var watch = false

  init() {}

  func run() async throws {
    guard watch else { return try StandardStream.output.write(await text()) }
    // From the top of the screen, and nothing of the last time is left.
    let clear = StandardStream.output.isTerminal && !json ? "\u{1B}[H\u{1B}[2J" : ""
    while true {
      try StandardStream.output.write(clear + (await text()))
      try await Task.sleep(for: .seconds(1))
    }
  }

  private func text() async throws -> String {
    let transports = CommandContext.transports
    let places = ControlFolders.all().filter { name == nil || $0.name == name }
    guard !places.isEmpty else {
      // With the names that there are.
      _ = try ControlClient.named(name, transports: transports)
      return ""
    }
    let style = TextStyle(for: .output)
    var text = ""
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
        let lines = StatusText(status, now: Int(Duration.sinceEpoch.components.seconds), style: style).lines
        text += lines.map { $0 + "\n" }.joined()
      } catch {
        // The others are shown all the same.
        guard places.count > 1 else { throw error }
        StandardStream.error.writeLine("byway: \(error.asFailure.message)")
      }
    }
    return text
  }
}

/// `byway reload`
struct ReloadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reload", abstract: "Makes a gateway or proxy read its configuration again, without an outage.")

  @Argument(help: "Which; needed only where several run.")
  var name: String?

  init() {}

  func run() async throws {
    _ = try await ControlClient.named(name, transports: CommandContext.transports).send(.post, "/reload")
  }
}

/// `byway stop`
struct StopCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stop", abstract: "Stops a gateway or proxy when its running requests have ended.")

  @Argument(help: "Which; needed only where several run.")
  var name: String?

  init() {}

  func run() async throws {
    _ = try await ControlClient.named(name, transports: CommandContext.transports).send(.post, "/stop")
  }
}

/// `byway log-level`
struct LogLevelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log-level", abstract: "Shows or changes how much a running gateway or proxy logs.")

  @Argument(help: "The new level.")
  var level: LogLevel?

  @Option(help: ArgumentHelp("Whose; needed only where several run.", valueName: "name"))
  var instance: String?

  init() {}

  func run() async throws {
    let client = try ControlClient.named(instance, transports: CommandContext.transports)
    guard let level else {
      let answer = try await client.send(.get, "/log-level").split(separator: "\n").first ?? ""
      return try StandardStream.output.write(String(answer).visible + "\n")
    }
    _ = try await client.send(.put, "/log-level", level.rawValue)
  }
}
