import ArgumentParser

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
