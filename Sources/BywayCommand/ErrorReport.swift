import ArgumentParser
import Byway
import BywayDaemonProcess
import BywayGatewayProgram
import BywayTerminal

/// The report of an error to the user: one line for each failure, and an exit status.
struct ErrorReport {
  private enum Text {
    /// Lines on standard error.
    case failures([String])
    /// Text that the user asked for, such as help.
    case answer(String)
    case none
  }

  let status: ExitStatus
  private let text: Text

  init(_ error: any Error) {
    switch error {
    case let error as CommandFailure:
      status = error.status
      text = .failures([error.message])
    case let error as ConfigurationErrors:
      status = error.failures.first?.status ?? .usage
      text = .failures(error.failures.map(\.message))
    case let error as BywayError:
      status = ExitStatus(error.code)
      text = .failures([error.message])
    case let error as AlreadyReported:
      status = error.status
      text = .none
    case is BrokenPipe:
      status = .success
      text = .none
    default:
      (status, text) = Self.parsing(error)
    }
  }

  func print() -> ExitStatus {
    switch text {
    case .failures(let messages): for message in messages { FailureReport.print(message) }
    case .answer(let answer): try? StandardStream.output.write(answer + "\n")
    case .none: break
    }
    return status
  }

  /// Returns the report of an ArgumentParser error; help is one of them.
  private static func parsing(_ error: any Error) -> (ExitStatus, Text) {
    switch RootCommand.exitCode(for: error) {
    case .success:
      return (.success, .answer(RootCommand.fullMessage(for: error)))
    case .validationFailure:
      let message = RootCommand.message(for: error)
      return (.usage, .failures([message.asSentence + ValueHint.text(for: message) + " Try: \(help)"]))
    default:
      return (.software, .failures(["Internal error: \(error)"]))
    }
  }

  /// The command that shows the options of the current command.
  private static var help: String {
    let known = RootCommand.configuration.subcommands.compactMap { $0.configuration.commandName }
    return known.contains(CommandContext.command) ? "byway help \(CommandContext.command)" : "byway help"
  }
}
