internal import Byway
internal import Glibc
internal import NIOCore
internal import NIOPosix

/// What each failure means for the person who reads it.
enum TCPFailure {
  static func connecting(to address: LinkAddress, _ error: any Error) -> BywayError {
    switch cause(of: error) {
    case .timeout:
      unavailable("\(address) did not answer in time: check the address, and that no firewall drops it.", error)
    case .unknownHost:
      unavailable("The name in \(address) cannot be resolved: check its spelling, or write the address.", error)
    case .system(ECONNREFUSED):
      unavailable("Nobody listens on \(address): start the gateway there, or check the port.", error)
    case .system(ENETUNREACH), .system(EHOSTUNREACH):
      unavailable("There is no route to \(address): check that this machine is on that network.", error)
    case .system(let code):
      unavailable("Cannot connect to \(address): \(describe(code)).", error)
    case .other:
      unavailable("Cannot connect to \(address).", error)
    }
  }

  static func listening(on address: LinkAddress, _ error: any Error) -> BywayError {
    switch cause(of: error) {
    case .system(EADDRINUSE):
      unavailable("\(address) is already in use: stop who listens there, or choose another port (0 takes any).", error)
    case .system(EADDRNOTAVAIL):
      unavailable("\(address) is no address of this machine: choose one that it has.", error)
    case .system(EACCES):
      unavailable("Permission denied on \(address): ports below 1024 need a privilege, choose a higher one.", error)
    case .system(let code):
      unavailable("Cannot listen on \(address): \(describe(code)).", error)
    default:
      unavailable("Cannot listen on \(address).", error)
    }
  }

  static func noPort(_ address: LinkAddress) -> BywayError {
    BywayError(.invalidAddress, "\(address) has port 0, which only a listener can have: name the listener's port.")
  }

  static func unavailable(_ message: String, _ cause: (any Error)?) -> BywayError {
    BywayError(.linkUnavailable, message, processing: .none, cause: cause)
  }

  private enum Cause {
    case timeout, unknownHost, other
    case system(CInt)
  }

  private static func cause(of error: any Error) -> Cause {
    switch error {
    case ChannelError.connectTimeout: .timeout
    case let error as IOError: error.errnoCode == ETIMEDOUT ? .timeout : .system(error.errnoCode)
    case let error as NIOConnectionError:
      error.connectionErrors.first.map { cause(of: $0.error) } ?? .unknownHost
    default: .other
    }
  }

  private static func describe(_ code: CInt) -> String { String(cString: strerror(code)) }
}
