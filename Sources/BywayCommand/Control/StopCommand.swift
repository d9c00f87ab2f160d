import ArgumentParser
import BywayDaemon
import BywayPrimitives
import BywayTerminal

/// `byway stop`
struct StopCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stop", abstract: "Stops a gateway or proxy when its running requests have ended.",
    discussion: "Returns when it has ended, at the latest a little after the time that --drain gives those requests.")

  @Argument(help: "The name of the daemon; needed only if several run.")
  var name: String?

  @Flag(help: "Do not wait until it has ended.")
  var noWait = false

  func run() async throws {
    let client = try ControlClient.named(name, transports: CommandContext.transports)
    let notice = StopNotice(try await client.send(.post, "/stop"))
    // An older daemon does not say which process to wait for.
    guard !noWait, let notice else { return try StandardStream.output.write("\(client.name.visible) is stopping.\n") }
    guard try await notice.wait() else {
      throw CommandFailure(
        .unavailable, "\(client.name) has been told to stop and has not ended yet: it is process \(notice.processID).")
    }
    try StandardStream.output.write("\(client.name.visible) has stopped.\n")
  }
}
