import BywayLibC
import BywayPrimitives
import NIOCore
import NIOPosix

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
  ///   - address: the IP address that was tried, if there was one.
  ///   - advice: a further sentence.
  package static func error(
    _ error: any Error, connectingTo place: String, of listener: String, address: String? = nil, advice: String? = nil
  ) -> BywayError {
    let failure = ConnectFailure(error)
    let message =
      switch failure {
      case .timeout: "\(place) did not answer in time: check the address, and that no firewall drops it."
      case .unknownHost: "The name in \(place) cannot be resolved: check its spelling, or use the IP address."
      case .system(ECONNREFUSED): "Nothing listens on \(place): start \(listener) there, or check the port."
      case .system(ENETUNREACH), .system(EHOSTUNREACH):
        "There is no route to \(place): check that this machine is on that network."
      case .system(let code): "Cannot connect to \(place): \(SystemError(code: code))."
      case .other: "Cannot connect to \(place)."
      }
    let sentence = advice.map { "\(message) \($0)" } ?? message
    return BywayError(.linkUnavailable, Diagnosis(connecting: failure, sentence, address: address), cause: error)
  }
}

extension Diagnosis {
  /// Diagnoses an address that cannot be connected to.
  /// - Parameters:
  ///   - failure: the reason.
  ///   - sentence: the sentence of the diagnosis.
  ///   - address: the IP address that was tried, if there was one.
  package init(connecting failure: ConnectFailure, _ sentence: String, address: String? = nil) {
    switch failure {
    case .unknownHost: self.init(.unknownName, sentence)
    case .system(ECONNREFUSED): self.init(.nobodyListens, sentence)
    case .system(ENETUNREACH), .system(EHOSTUNREACH):
      self.init(.noRoute, sentence, command: address.map { "ip route get \($0)" })
    case .timeout: self.init(.noAnswer, sentence)
    case .system, .other: self.init(.notConnected, sentence)
    }
  }
}
