package import Byway
package import BywayDaemonProcess

/// A member of a daemon: a gateway or a proxy.
package protocol DaemonMember: Sendable {
  associatedtype Configuration: MemberConfiguration

  /// The word that begins its sections: `[gateway NAME]`.
  static var kind: String { get }

  /// Returns the places where a member listens, or dials for its clients. A place can have only one user at a time.
  static func places(of configuration: Configuration) -> [String]
  /// Creates a member that has no places yet.
  static func make(_ configuration: Configuration) throws -> Self
  /// Opens a member that was just created.
  /// - Parameter held: The places that this daemon has already.
  /// - Throws: If something cannot be opened.
  func open(besides held: Set<String>) async throws -> Changeover
  /// Prepares a running member for another configuration.
  /// - Parameter held: The places that this daemon has already.
  /// - Throws: If something cannot be opened; the member continues as before then.
  func prepare(_ configuration: Configuration, besides held: Set<String>) async throws -> Changeover
  /// Prepares to leave its places, which it may do one by one.
  func prepareToLeave() -> Changeover
  func waitUntilEnded() async throws
  func stop(within patience: Duration) async
  /// Returns the state of its links and origins.
  /// - Parameters:
  ///   - name: The name of its section.
  ///   - measures: Whether to measure the round trip to the far end, which may take a second.
  func status(named name: String, measures: Bool) async -> DaemonStatus.Member
  /// Whether requests can be sent through it as if an accepted client had sent them.
  static var sends: Bool { get }
  /// Sends a request as if an accepted client had sent it.
  /// - Parameter listener: The listener of the request that is repeated.
  /// - Returns: `nil` if that is not a listener of this member, or if it cannot send.
  func send(_ request: Request, at listener: String) async throws -> Response?
  /// The part of its ready notice after "gateway" and its name.
  var readiness: ReadyNotice { get async }
}

extension DaemonMember {
  /// Returns the beginning of messages about a member; empty if it has no section of its own.
  package static func place(of name: String) -> String { name.isEmpty ? "" : "[\(kind) \(name)]: " }

  static var sends: Bool { false }

  func send(_ request: Request, at listener: String) async throws -> Response? { nil }
}
