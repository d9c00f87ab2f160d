import Byway

/// What the process ends with: sysexits.h where it has a number, and curl's 22.
enum ExitStatus: Int32, Sendable {
  case success = 0
  /// `line --conform`, and a check failed.
  case checkFailed = 1
  /// `--fail`, and the server answered with 400 or more.
  case httpFailure = 22
  /// EX_USAGE: the command line is wrong, link addresses included.
  case usage = 64
  /// EX_NOINPUT: a file to be read cannot be.
  case noInput = 66
  /// EX_UNAVAILABLE: no complete answer came, because of the link, the gateway or the origin.
  case unavailable = 69
  /// EX_SOFTWARE: a fault of this program.
  case software = 70
  /// EX_CANTCREAT: a file or folder cannot be made or used.
  case cannotCreate = 73
  /// EX_IOERR: a file cannot be written to its end, nor can what was received.
  case ioFailure = 74

  init(_ code: BywayError.Code) {
    self =
      switch code {
      case .invalidAddress, .unknownScheme, .unknownOption, .invalidRequest: .usage
      case .handlerFailed: .software
      case .unreadableFile: .noInput
      case .uncreatableFile: .cannotCreate
      case .unwritableFile: .ioFailure
      default: .unavailable
      }
  }
}
