import Glibc
import NIOCore
import NIOPosix
import Primitives

/// The reason why a network connection failed, as far as the system reports it.
package enum ConnectFailure {
  case timeout, unknownHost
  case other(any Error)
  case system(CInt)

  package init(_ error: any Error) {
    switch error {
    case ChannelError.connectTimeout: self = .timeout
    case let error as IOError: self = error.errnoCode == ETIMEDOUT ? .timeout : .system(error.errnoCode)
    case let error as NIOConnectionError:
      self = error.connectionErrors.first.map { ConnectFailure($0.error) } ?? .unknownHost
    default: self = .other(error)
    }
  }

  /// Returns an error with a message for users.
  /// - Parameters:
  ///   - place: the address, as it was given.
  ///   - listener: the expected server: "the SSH server".
  package static func error(_ error: any Error, connectingTo place: String, of listener: String) -> BywayError {
    let message =
      switch ConnectFailure(error) {
      case .timeout: "\(place) did not answer in time: check the address, and that no firewall drops it."
      case .unknownHost: "The name in \(place) cannot be resolved: check its spelling, or use the IP address."
      case .system(ECONNREFUSED): "Nothing listens on \(place): start \(listener) there, or check the port."
      case .system(ENETUNREACH), .system(EHOSTUNREACH):
        "There is no route to \(place): check that this machine is on that network."
      case .system(let code): "Cannot connect to \(place): \(SystemError(code: code))."
      case .other: "Cannot connect to \(place)."
      }
    return BywayError(.linkUnavailable, message, processing: .none, cause: error)
  }
}
