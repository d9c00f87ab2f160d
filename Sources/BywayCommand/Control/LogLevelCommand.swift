import ArgumentParser
import BywayDaemon
import BywayDaemonProcess
import BywayPrimitives
import BywayTerminal

/// `byway log-level`
struct LogLevelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log-level", abstract: "Shows or changes how much a running gateway or proxy logs.",
    discussion: "A single argument is the new level if it is the name of one, or else the name of the daemon.")

  @Argument(help: "The name of the daemon; needed only if several run.")
  var name: String?

  @Argument(help: "The new level.")
  var level: LogLevel?

  @Option(help: .value("name", "The name of the daemon, also if it is that of a level."))
  var instance: String?

  func run() async throws {
    var (name, level) = (name, level)
    if level == nil, let first = name.flatMap(LogLevel.init(rawValue:)) { (name, level) = (nil, first) }
    if let name, instance != nil {
      throw CommandFailure(.usage, "\"\(name)\" is not a level, which is one of \(LogLevel.names).")
    }
    let client: ControlClient
    do {
      client = try ControlClient.named(instance ?? name, transports: CommandContext.transports)
    } catch let failure as CommandFailure where name != nil && level == nil {
      throw CommandFailure(failure.status, "\(failure.message) A level is one of \(LogLevel.names).")
    }
    guard let level else {
      let answer = try await client.send(.get, "/log-level").split(separator: "\n").first ?? ""
      return try StandardStream.output.write(String(answer).visible + "\n")
    }
    _ = try await client.send(.put, "/log-level", level.rawValue)
  }
}
