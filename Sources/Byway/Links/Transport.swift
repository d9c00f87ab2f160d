public import Logging
public import NIOCore

/// Opens or accepts byte streams of one kind and hands each over as a NIO channel.
///
/// A transport knows nothing of HTTP. Either end may dial, whichever of them serves: every transport has both calls, and one that cannot do
/// one of them throws. docs/writing-a-transport.md tells how to write one; `TransportCompatibility` in BywayTesting is the test that each
/// must pass.
///
/// The channel handed over:
/// - carries `ByteBuffer`s in both directions, unchanged and in order;
/// - is active, allows the remote end to half-close (`ChannelOptions.allowRemoteHalfClosure`), and does not read yet:
///   `ChannelOptions.autoRead` is off until its new owner has added its handlers and turns it on;
/// - belongs to its new owner, which closes it. `close(mode: .output)` ends the sending direction only.
///
/// A `Sendable` value; its functions may be called from any thread, also concurrently.
public protocol Transport: Sendable {
  /// The scheme of its addresses, in lower case: `unix`.
  var scheme: String { get }

  /// The options of an address of this scheme, in addition to `http`, `line`, `open` and `jitter`, which every link has.
  var options: [LinkOption] { get }

  /// Checks an address without any access to the system.
  /// - Throws: ``BywayError`` with code `invalidAddress`.
  func check(_ address: LinkAddress) throws

  /// Checks an address for its use, and reads the files that it names, as opening it would. Opens and changes nothing.
  /// - Throws: ``BywayError`` with code `invalidAddress`; for a file `unreadableFile` or `uncreatableFile`.
  func check(_ address: LinkAddress, for opening: Link.Opening) throws

  /// Opens a stream. Must end by the context's deadline.
  /// - Returns: a channel as described above, on a loop of the context's group.
  /// - Throws: ``BywayError`` with code `linkUnavailable`, whose message says what to try.
  func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel

  /// Starts to accept streams.
  /// - Returns: a listener that accepts already.
  /// - Throws: ``BywayError`` with code `linkUnavailable`.
  func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener

  /// Returns which clients can reach a listener at that address. A proxy applies more checks if any client can.
  func audience(of address: LinkAddress) -> Audience

  /// Whether a network lies between the ends. Then many ends may lose one remote end at once, and should not all dial at the same time. A
  /// router on the way may also forget a connection that is silent for long.
  var crossesNetwork: Bool { get }

  /// Returns the names in the verified certificate of an accepted channel's remote end; `nil` if it has shown none. Called on the channel's
  /// event loop.
  func certifiedNames(of channel: any Channel) -> [String]?

  /// Returns the verified certificate, in DER, of an accepted channel's remote end; `nil` if it has shown none. Called on the channel's
  /// event loop.
  func certificate(of channel: any Channel) -> [UInt8]?

  /// Whether a listener at that address is protected from eavesdroppers.
  func isEncrypted(_ address: LinkAddress) -> Bool

  /// Returns the properties for the line layer, if the medium is a line that damages or interrupts its bytes. Channels of such a transport
  /// may close when a cable is pulled. The transport is then asked for the next one, for as long as the session over it can be resumed.
  /// Half-closing has no meaning there.
  func line(for address: LinkAddress) throws -> LineProperties?
}

/// The kinds of clients that can reach a listener.
public enum Audience: Sendable, Hashable {
  /// Unknown clients: perhaps on other machines, and web pages in a browser.
  case anyone
  /// Clients that have proved their identity, for example with a certificate; a browser may do that for any page.
  case known
  /// Programs that may open a file. A web page cannot make a browser do that.
  case programs
}

extension Transport {
  /// `[]`: only those of every link.
  public var options: [LinkOption] { [] }

  /// Checks nothing more than the address.
  public func check(_ address: LinkAddress, for opening: Link.Opening) throws {}

  /// `false`: a medium of its own, or within one machine.
  public var crossesNetwork: Bool { false }

  /// `.anyone`, the safe assumption.
  public func audience(of address: LinkAddress) -> Audience { .anyone }

  /// `nil`: no certificates.
  public func certifiedNames(of channel: any Channel) -> [String]? { nil }

  /// `nil`: no certificates.
  public func certificate(of channel: any Channel) -> [UInt8]? { nil }

  /// `false`, the safe assumption.
  public func isEncrypted(_ address: LinkAddress) -> Bool { false }

  /// `nil`: a reliable stream.
  public func line(for address: LinkAddress) throws -> LineProperties? { nil }
}

/// An option of a link address, for checks and for help.
public struct LinkOption: Sendable, Hashable {
  /// The name as written in an address: `mode`.
  public var name: String
  /// A phrase: "permission bits of the socket file, in octal".
  public var help: String

  /// Creates an option with its help.
  public init(_ name: String, _ help: String) {
    self.name = name
    self.help = help
  }

  /// The options of every link, read by the core.
  package static let common: [LinkOption] = [
    LinkOption("http", "2 if a gateway is at the far end (the default), 1.1 if it is an ordinary HTTP/1.1 server"),
    LinkOption("line", "baud rate of a serial line at the end of the stream, behind a terminal server for example"),
    LinkOption("open", "dial or listen: what this end does. By default a gateway listens, and everything else dials"),
    LinkOption(
      "jitter", "maximum of the random wait in seconds before a gateway dials a lost link again; 1 over a network"),
  ]
}

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

  /// The command to start there.
  package var name: String {
    switch self {
    case .gateway: "\"byway gateway\""
    case .client: "\"byway proxy\" with ?open=listen"
    }
  }
}

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
