package import Byway
package import NIOCore

/// An event of the audit log: which user, which device, when.
package enum AuditEvent: Sendable, Hashable {
  /// A user has begun to use a device.
  case began(User, Resource)
  /// A user has begun to use further devices, beyond those logged one by one.
  case beganMore(name: String, times: Int)
  /// A user has stopped using a device: no request came for a while.
  case ended(User, Resource, requests: Int, after: TimeAmount)
  /// Requests were refused; `times` counts them since the last such event.
  case refused(Refused, times: Int)

  package struct User: Sendable, Hashable {
    package let name: String
    package let proof: RequestUser.Proof
    /// The client's address when the use began.
    package let peer: String
  }

  package struct Refused: Sendable, Hashable {
    package let reason: Reason
    /// The name that the client sent, on one line and limited to the length of a name; `nil` if it sent none.
    package let name: String?
    package let resource: Resource?
    package let peer: String

    /// The value of ``peer`` for many addresses.
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

/// Writes an audit log. It is called on an event loop and must not block.
package protocol AuditLog: Sendable {
  func record(_ event: AuditEvent)
}
