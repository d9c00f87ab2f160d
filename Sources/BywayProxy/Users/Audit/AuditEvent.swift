package import Byway
package import NIOCore

/// What an audit log tells of: who, which device, when.
package enum AuditEvent: Sendable, Hashable {
  /// A user uses a device, and has not done so for a while.
  case began(User, Resource)
  /// A user has begun to use so many more than are told of one by one.
  case beganMore(name: String, times: Int)
  /// The use of a device has ended: nothing was asked of it for a while.
  case ended(User, Resource, requests: Int, after: TimeAmount)
  /// Somebody was refused, so many times since that was told before.
  case refused(Refused, times: Int)

  package struct User: Sendable, Hashable {
    package let name: String
    package let proof: Visitor.Proof
    /// Where the user was when it began.
    package let peer: String
  }

  package struct Refused: Sendable, Hashable {
    package let reason: Reason
    /// As it was tried, on one line and not longer than a name; `nil` where none was.
    package let name: String?
    package let resource: Resource?
    package let peer: String

    /// In the place of many addresses.
    static let various = "various"
  }

  package enum Reason: String, Sendable, Hashable {
    case noRight = "no right"
    case wrongLogin = "wrong login"
    case paused = "too many wrong logins"
    case busy = "too many logins at once"
    case nobody = "no user"
  }
}

/// Writes an audit log. Called on an event loop, so that it must not block.
package protocol AuditLog: Sendable {
  func record(_ event: AuditEvent)
}
