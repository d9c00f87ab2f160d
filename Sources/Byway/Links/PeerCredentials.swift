import BywayLibC
package import Logging
package import NIOCore

/// The peer of a Unix socket, as the kernel saw it when the socket was connected (unix(7), SO_PEERCRED).
package struct PeerCredentials: Sendable {
  // The layout of the kernel's `struct ucred`.
  package let processID: Int32
  package let userID: UInt32
  package let groupID: UInt32

  package init?(ofSocket descriptor: Int32) {
    var credentials = (pid_t(0), uid_t(0), gid_t(0))
    var size = socklen_t(MemoryLayout.size(ofValue: credentials))
    guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else { return nil }
    (processID, userID, groupID) = credentials
  }
}

extension Channel {
  /// Logs one line for each peer of a socket that several users may open.
  package func logPeerCredentials(of address: LinkAddress, to logger: Logger) {
    guard let provider = self as? any SocketOptionProvider else { return }
    let credentials: EventLoopFuture<PeerCredentials> = provider.unsafeGetSocketOption(
      level: SocketOptionLevel(SOL_SOCKET), name: SocketOptionName(SO_PEERCRED))
    credentials.whenSuccess { peer in
      logger.info(
        "Accepted a peer on \(address)",
        metadata: ["pid": "\(peer.processID)", "uid": "\(peer.userID)", "gid": "\(peer.groupID)"])
    }
  }
}
