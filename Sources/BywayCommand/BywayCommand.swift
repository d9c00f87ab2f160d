import ArgumentParser
public import Byway
import BywayDaemonProcess
import BywayLibC
import BywayTerminal

/// The `byway` command, for a custom `main` that adds transports:
///
///     @main enum Main {
///       static func main() async {
///         await BywayCommand.run(transports: [UnixTransport(), MyTransport()])
///       }
///     }
public enum BywayCommand {
  /// Runs the command that the process was started with, and ends the process with its exit status.
  /// - Parameters:
  ///   - transports: the transports of all links.
  ///   - omitted: the schemes that this build lacks, each with a sentence that says what to do.
  public static func run(transports: [any Transport], omitted: [String: String] = [:]) async -> Never {
    // If a reader has gone away, one write fails; the process must not end.
    signal(SIGPIPE, SIG_IGN)
    Advice.use(AdviceText.of)
    ConsolePasswords.takeFromEnvironment()
    let arguments = Array(CommandLine.arguments.dropFirst())
    exit(await status(of: arguments, transports: TransportRegistry(transports, omitted: omitted)).rawValue)
  }

  /// Runs a command and returns its exit status. Reports an error in one line on standard error.
  static func status(of arguments: [String], transports: TransportRegistry) async -> ExitStatus {
    await CommandContext.$transports.withValue(transports) {
      await CommandContext.$arguments.withValue(Array(arguments.dropFirst())) {
        await CommandContext.$command.withValue(arguments.first ?? "") {
          do {
            try await run(arguments)
            return .success
          } catch {
            return ErrorReport(error).print()
          }
        }
      }
    }
  }

  private static func run(_ arguments: [String]) async throws {
    LogFormat.beginDaemon(arguments)
    try RootCommand.checkName(in: arguments)
    var command = try RootCommand.parseAsRoot(arguments)
    try OptionCount.check(arguments, of: type(of: command))
    if var command = command as? any AsyncParsableCommand {
      try await command.run()
    } else {
      try command.run()
    }
  }
}
