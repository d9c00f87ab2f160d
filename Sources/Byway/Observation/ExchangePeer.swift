import NIOCore

/// The program at the other end of the connection on which an exchange arrived, as the kernel knows it.
///
/// A class, because all exchanges of a connection share it.
public final class ExchangePeer: Sendable {
  /// Its IP address; `nil` for a Unix socket.
  public let address: String?
  /// The user that runs it, if it is on a Unix socket.
  public let userID: UInt32?
  /// Its process when it connected, if it is on a Unix socket.
  public let processID: Int32?

  init(address: String?, userID: UInt32? = nil, processID: Int32? = nil) {
    self.address = address
    self.userID = userID
    self.processID = processID
  }

  /// Returns `nil` for a channel without addresses, such as a serial line or a pipe. On the channel's event loop.
  convenience init?(of channel: any Channel) {
    switch channel.remoteAddress {
    case .v4?, .v6?: self.init(address: channel.remoteAddress?.ipAddress)
    case .unixDomainSocket?:
      let credentials = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
        of: NIOBSDSocket.Handle.self
      ) { PeerCredentials(ofSocket: $0) }
      self.init(address: nil, userID: credentials??.userID, processID: credentials??.processID)
    case nil: return nil
    }
  }
}
