import ArgumentParser

/// `byway reload`
struct ReloadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reload", abstract: "Makes a gateway or proxy read its configuration again, without an outage.")

  @Argument(help: "The name of the daemon; needed only if several run.")
  var name: String?

  func run() async throws {
    _ = try await ControlClient.named(name, transports: CommandContext.transports).send(.post, "/reload")
  }
}
