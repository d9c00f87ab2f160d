import ArgumentParser
import BywayPrimitives

/// `byway log-level`
struct LogLevelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log-level", abstract: "Shows or changes how much a running gateway or proxy logs.")

  @Argument(help: "The new level.")
  var level: LogLevel?

  @Option(help: .value("name", "The name of the daemon; needed only if several run."))
  var instance: String?

  func run() async throws {
    let client = try ControlClient.named(instance, transports: CommandContext.transports)
    guard let level else {
      let answer = try await client.send(.get, "/log-level").split(separator: "\n").first ?? ""
      return try StandardStream.output.write(String(answer).visible + "\n")
    }
    _ = try await client.send(.put, "/log-level", level.rawValue)
  }
}
