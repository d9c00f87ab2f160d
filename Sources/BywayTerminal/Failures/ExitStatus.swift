package import Byway

/// The exit status of the process: a number from sysexits.h where there is one, and curl's 22.
package enum ExitStatus: Int32, Sendable {
  case success = 0
  /// `line --conform`: a check failed.
  case checkFailed = 1
  /// `--fail`: the server answered with 400 or more.
  case httpFailure = 22
  /// EX_USAGE: the command line is wrong, link addresses included.
  case usage = 64
  /// EX_NOINPUT: an input file cannot be read.
  case noInput = 66
  /// EX_UNAVAILABLE: no complete answer arrived, because of the link, the gateway or the origin.
  case unavailable = 69
  /// EX_SOFTWARE: a bug of this program.
  case software = 70
  /// EX_CANTCREAT: a file or folder cannot be created or used.
  case cannotCreate = 73
  /// EX_IOERR: a file, or what was received, cannot be written completely.
  case ioFailure = 74

  package init(_ code: BywayError.Code) {
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
