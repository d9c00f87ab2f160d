public import NIOCore

/// A place where streams are accepted.
public protocol Listener: Sendable {
  /// The bound address: a port of 0 is replaced by the assigned one.
  var address: LinkAddress { get }

  /// The accepted channels, as ``Transport`` describes them. Iterated once. The sequence ends after ``close()``, or when the transport has
  /// no more channels (`stdio:` has one); it throws if accepting cannot continue.
  var channels: AsyncThrowingStream<any Channel, any Error> { get }

  /// Why the listener cannot be reached now, as text for users: for example, the device does not exist. `nil` if no reason is known. Any
  /// thread.
  var unavailableReason: String? { get }

  /// Reads the files of its address again, for example certificates. Other listeners do nothing.
  /// - Returns: puts the new files into effect for later connections; until it is called, the old ones stay in use.
  /// - Throws: ``BywayError`` if they cannot be used.
  func reread() async throws -> @Sendable () -> Void

  /// Stops accepting and removes what was created, for example a socket file. Accepted channels stay open.
  func close() async
}

extension Listener {
  /// `nil`: no reason is known.
  public var unavailableReason: String? { nil }

  /// Has no files to read.
  public func reread() async throws -> @Sendable () -> Void { {} }
}
