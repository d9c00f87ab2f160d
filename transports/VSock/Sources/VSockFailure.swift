import Byway
import BywayLibC
import BywayPrimitives
import NIOCore

/// The messages for failures, in the user's terms.
enum VSockFailure {
  static func connecting(to address: LinkAddress, _ error: any Error, expecting peer: LinkPeer) -> BywayError {
    let (fault, sentence): (LinkFault, String) =
      switch ConnectFailure(error) {
      // A refusal arrives as a reset (af_vsock).
      case .system(ECONNREFUSED), .system(ECONNRESET):
        (.nobodyListens, "Nothing listens on \(address): start \(peer.name) there, or check the port.")
      case .system(ENODEV), .system(EADDRNOTAVAIL), .system(EHOSTUNREACH), .system(ENETUNREACH):
        (
          .noRoute,
          "There is no machine \(address.place) that this one reaches by vsock: check its CID. A host needs the module vhost_vsock, and "
            + "vsock:local:… needs vsock_loopback."
        )
      case .system(EAFNOSUPPORT): (.noRoute, noVSock)
      case .timeout: (.noAnswer, "\(address) did not answer in time: check the CID, and that the machine runs.")
      case .system(let code): (.notConnected, "Cannot connect to \(address): \(SystemError(code: code)).")
      case .unknownHost, .other: (.notConnected, "Cannot connect to \(address).")
      }
    return BywayError(.linkUnavailable, Diagnosis(fault, sentence), cause: error)
  }

  static func listening(on address: LinkAddress, _ error: any Error) -> BywayError {
    let sentence =
      switch ConnectFailure(error) {
      case .system(EADDRINUSE): "\(address) is already in use: stop what listens there, or choose another port."
      case .system(EACCES):
        "Permission denied on \(address): ports below 1024 need privileges; choose a higher one."
      case .system(EADDRNOTAVAIL): "\(address) is not a CID of this machine: listen on vsock:any:PORT."
      case .system(EAFNOSUPPORT): noVSock
      case .system(let code): "Cannot listen on \(address): \(SystemError(code: code))."
      case .timeout, .unknownHost, .other: "Cannot listen on \(address)."
      }
    return BywayError(.linkUnavailable, sentence, processing: .none, cause: error)
  }

  private static let noVSock = "This machine's kernel has no vsock: load the module vsock, or use another link."
}
