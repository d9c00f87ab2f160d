import Byway
import Glibc
import NIOCore

/// What each failure to connect to an origin means for the person who reads it.
enum OriginFailure {
  static func explain(_ error: any Error, name: String) -> BywayError {
    switch error {
    case let error as BywayError:
      error
    case let error as IOError where error.errnoCode == ECONNREFUSED:
      BywayError(
        .originUnavailable, "Nothing listens at \(name): start the origin, or correct --origin.", processing: .none,
        cause: error)
    case let error as IOError where error.errnoCode == ENOENT:
      BywayError(
        .originUnavailable, "\(name) does not exist: start the origin, or correct --origin.", processing: .none,
        cause: error)
    case let error as IOError where error.errnoCode == EACCES:
      BywayError(
        .originUnavailable, "No permission to connect to \(name): run the gateway as a user who may.",
        processing: .none, cause: error)
    case ChannelError.connectTimeout:
      BywayError(.timedOut, "\(name) did not accept a connection in time.", processing: .none, cause: error)
    default:
      BywayError(.originUnavailable, "\(name) cannot be reached.", processing: .none, cause: error)
    }
  }
}
