public import Logging
public import NIOCore

/// The context of a call that opens a stream.
public struct LinkContext: Sendable {
  /// The group for the channel, or for a listener's channels. An `EventLoop` is a group of one.
  public var group: any EventLoopGroup
  /// Logs events on the way to a stream, and nothing of its content.
  public var logger: Logger
  /// The time limit for `connect`.
  public var deadline: NIODeadline
  /// The maximum number of connections of a listener. Further ones should wait in the medium, if it can hold them.
  public var connections: ConnectionLimit
  /// The expected remote end for `connect`, for messages.
  package var peer = LinkPeer.gateway
  /// Records the steps of `connect` for an examination, which also wants to see steps that an ordinary link does not need; `nil` otherwise.
  package var journal: LinkJournal?
  /// Called for each client that a listener refuses, on any thread; `nil`: for none.
  package var refused: (@Sendable (ClientRefusal) -> Void)?
  /// Additional environment variables of programs that `connect` starts.
  package var environment: [String: String] = [:]
  /// The list of the programs that `connect` starts, for their owner.
  package var programs: StartedPrograms?

  /// The line whose session several calls of `connect` may share, if its far end takes streams; `nil`: each call has its own session.
  package var sharedLine: SharedLine?

  /// Opens the connection to the place of the address, if the transport must not do that itself: through an HTTP proxy, for example.
  package var tunnel: (@Sendable () async throws -> any Channel)?

  /// Creates the context of one call.
  /// - Parameters:
  ///   - group: the group for the channel, or for a listener's channels.
  ///   - logger: logs events on the way.
  ///   - deadline: the time limit for `connect`.
  ///   - connections: the maximum number of connections of a listener.
  public init(
    group: any EventLoopGroup, logger: Logger, deadline: NIODeadline,
    connections: ConnectionLimit = ConnectionLimit(.max)
  ) {
    self.group = group
    self.logger = logger
    self.deadline = deadline
    self.connections = connections
  }
}

/// The expected remote end of a link, as seen from the end that dials.
package enum LinkPeer: Sendable, Hashable {
  case gateway
  /// A client, where the gateway dials.
  case client
  /// The program of the plugin with this name.
  case plugin(String)

  /// The program to start there, for messages.
  package var name: String {
    switch self {
    case .gateway: "\(Advice.program(.gateway))"
    case .client: "\(Advice.program(.waitingProxy))"
    case .plugin(let name): "the program of the plugin \(name)"
    }
  }
}
