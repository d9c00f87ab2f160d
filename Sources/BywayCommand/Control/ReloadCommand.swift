import ArgumentParser
import BywayDaemon
import BywayPrimitives
import BywayTerminal

/// `byway reload`
struct ReloadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reload", abstract: "Makes a gateway or proxy read its configuration again, without an outage.",
    discussion: "Says what has happened, and which of the changed options take effect at the next start only.")

  @Argument(help: "The name of the daemon; needed only if several run.")
  var name: String?

  func run() async throws {
    let client = try ControlClient.named(name, transports: CommandContext.transports)
    let notice = ReloadNotice(try await client.send(.post, "/reload"))
    try StandardStream.output.write(notice.text(of: client.name).visible + "\n")
  }
}
