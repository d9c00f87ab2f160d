import Byway
import Glibc

/// What each failure to connect to an origin means for the person who reads it.
enum OriginFailure {
  static func explain(_ error: any Error, name: String) -> BywayError {
    if let error = error as? BywayError { return error }
    let reason = ConnectFailure(error)
    if case .timeout = reason {
      let message = "\(name) did not accept a connection in time (--connect-timeout)."
      return BywayError(.timedOut, message, processing: .none, cause: error)
    }
    return BywayError(.originUnavailable, message(reason, name), processing: .none, cause: error)
  }

  private static func message(_ reason: ConnectFailure, _ name: String) -> String {
    switch reason {
    case .system(ECONNREFUSED): "Nothing listens at \(name): start the origin, or correct --origin."
    case .system(ENOENT): "\(name) does not exist: start the origin, or correct --origin."
    case .system(EACCES): "No permission to connect to \(name): run the gateway as a user who may."
    case .system(ENETUNREACH), .system(EHOSTUNREACH): "There is no route from the gateway to \(name)."
    case .system(let code): "Cannot connect to \(name): \(String(cString: strerror(code)))."
    case .unknownHost: "The host name in \(name) cannot be resolved where the gateway runs: check its spelling."
    case .timeout, .other: "\(name) cannot be reached."
    }
  }
}
