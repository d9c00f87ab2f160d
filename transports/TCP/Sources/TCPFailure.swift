import Byway
import BywayLibC
import BywayPrimitives
import NIOCore
import NIOPosix

/// The messages for failures, in the user's terms.
enum TCPFailure {
  static func connecting(to address: LinkAddress, _ error: any Error, expecting peer: LinkPeer) -> BywayError {
    ConnectFailure.error(error, connectingTo: "\(address)", of: peer.name)
  }

  static func listening(on address: LinkAddress, _ error: any Error) -> BywayError {
    switch ConnectFailure(error) {
    case .system(EADDRINUSE):
      inUse(address, error)
    case .system(EADDRNOTAVAIL):
      unavailable("\(address) is not an address of this machine: use one that it has.", error)
    case .system(EACCES):
      unavailable("Permission denied on \(address): ports below 1024 need privileges; choose a higher one.", error)
    case .system(let code):
      unavailable("Cannot listen on \(address): \(SystemError(code: code)).", error)
    default:
      unavailable("Cannot listen on \(address).", error)
    }
  }

  private static func inUse(_ address: LinkAddress, _ error: any Error) -> BywayError {
    let port = (try? address.hostPort())?.port
    let holder = port.flatMap { RunningProcess(listeningOn: $0) }
    // Only an administrator sees the processes of other users.
    let command = "sudo ss -ltnp" + (port.map { " sport = :\($0)" } ?? "")
    let found = holder.map { " by \($0): stop that" } ?? ": stop what listens there, which \"\(command)\" shows"
    return unavailable("\(address) is already in use\(found), or choose another port (0 takes any).", error)
  }

  static func noPort(_ address: LinkAddress) -> BywayError {
    BywayError(.invalidAddress, "\(address) has port 0, which only a listener can use: write the listener's port.")
  }

  static func unavailable(_ message: String, _ cause: (any Error)?) -> BywayError {
    BywayError(.linkUnavailable, message, processing: .none, cause: cause)
  }

}
