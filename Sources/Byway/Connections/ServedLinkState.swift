package import NIOCore

/// The state of a link at its serving end, apart from its open connections.
package enum ServedLinkState: Sendable, Hashable {
  /// It listens, and clients can connect.
  case listening
  /// It listens, and clients cannot connect now.
  case unavailable(reason: String)
  /// It dials, and no attempt has failed since it was last open.
  case dialing
  /// It dials, and the last attempt failed.
  case down(reason: String, since: NIODeadline)
  /// It dials, and the other end has ended the last connection at once. It remains in this state until a connection has lasted.
  case refused(reason: String, since: NIODeadline)
}
