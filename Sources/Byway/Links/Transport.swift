public import Logging
public import NIOCore

/// Opens or accepts byte streams of one kind and hands each over as a NIO channel.
///
/// A transport knows nothing of HTTP. Who dials is independent of who serves: both calls exist on every transport,
/// and one that cannot do one of them throws. docs/writing-a-transport.md tells how to write one;
/// `TransportCompatibility` in BywayTesting is the test that each must pass.
///
/// The channel handed over:
/// - carries `ByteBuffer`s in both directions, as they are, in order;
/// - is active, allows the remote end to half-close (`ChannelOptions.allowRemoteHalfClosure`), and does not read yet:
///   `ChannelOptions.autoRead` is off until its new owner has put its handlers in and turns it on;
/// - belongs to its new owner, who closes it. `close(mode: .output)` ends the sending direction only.
///
/// A `Sendable` value; its calls may be made from any thread and run concurrently.
public protocol Transport: Sendable {
  /// In lower case: `unix`.
  var scheme: String { get }

  /// The options that an address of this scheme may carry, besides `http`, `line` and `open`, which every link has.
  var options: [LinkOption] { get }

  /// Judges an address without touching the outside world.
  /// - Throws: ``BywayError`` with code `invalidAddress`.
  func check(_ address: LinkAddress) throws

  /// Judges what an address is to be used for, and reads the files that it names, as opening it would. Opens and changes nothing.
  /// - Throws: ``BywayError`` with code `invalidAddress`; for a file `unreadableFile` or `uncreatableFile`.
  func check(_ address: LinkAddress, for opening: Link.Opening) throws

  /// Opens a stream. Must end by the context's deadline.
  /// - Returns: a channel as the contract above describes it, on a loop of the context's group.
  /// - Throws: ``BywayError`` with code `linkUnavailable`, whose message says what to try.
  func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel

  /// Starts to accept streams.
  /// - Returns: a listener that accepts already.
  /// - Throws: ``BywayError`` with code `linkUnavailable`.
  func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener

  /// Who can reach a listener at that address. A proxy asks more of those who come from anywhere.
  func audience(of address: LinkAddress) -> Audience

  /// Whether a network lies between the ends. Then many ends may lose one far end in the same moment, and should not all dial at
  /// once; and what stays silent for long may be forgotten by a router on the way.
  var crossesNetwork: Bool { get }

  /// The names in the certificate that the far end of an accepted channel has shown and this end has verified; `nil` where it has shown
  /// none. Called on the channel's event loop.
  func certifiedNames(of channel: any Channel) -> [String]?

  /// The certificate, in DER, that the far end of an accepted channel has shown and this end has verified; `nil` where it has shown none.
  /// Called on the channel's event loop.
  func certificate(of channel: any Channel) -> [UInt8]?

  /// Whether what listens at that address is protected from whoever is on the way.
  func isEncrypted(_ address: LinkAddress) -> Bool

  /// Where the medium is a line that damages or interrupts what it carries: what the line layer must know of it. Channels
  /// of such a transport may close when a cable is pulled, and the transport is then asked for the next one, for as long
  /// as the session over it can be resumed; half-closing means nothing there.
  func line(for address: LinkAddress) throws -> LineProperties?
}

/// Who can reach a listener.
public enum Audience: Sendable, Hashable {
  /// Nobody can tell: another machine perhaps, and the web pages in a browser.
  case anyone
  /// Those who have proved who they are, with a certificate for example; a browser may do that for any page.
  case known
  /// Programs that may open a file. No web page makes a browser do that.
  case programs
}

extension Transport {
  /// The address says it all.
  public func check(_ address: LinkAddress, for opening: Link.Opening) throws {}

  /// A medium of its own, or within one machine.
  public var crossesNetwork: Bool { false }

  /// The safe assumption.
  public func audience(of address: LinkAddress) -> Audience { .anyone }

  /// Nobody shows any.
  public func certifiedNames(of channel: any Channel) -> [String]? { nil }

  /// Nobody shows any.
  public func certificate(of channel: any Channel) -> [UInt8]? { nil }

  /// The safe assumption.
  public func isEncrypted(_ address: LinkAddress) -> Bool { false }

  /// A reliable stream.
  public func line(for address: LinkAddress) throws -> LineProperties? { nil }
}

/// An option of a link address, for checks and for help.
public struct LinkOption: Sendable, Hashable {
  /// As it is written in an address: `mode`.
  public var name: String
  /// Half a sentence: "permission bits of the socket file, in octal".
  public var help: String

  /// An option and its help.
  public init(_ name: String, _ help: String) {
    self.name = name
    self.help = help
  }

  /// Options of every link, read by the core.
  package static let common: [LinkOption] = [
    LinkOption("http", "2 if a gateway is at the far end (the default), 1.1 if it is an ordinary HTTP/1.1 server"),
    LinkOption("line", "baud rate of a serial line at the end of the stream, behind a terminal server for example"),
    LinkOption("open", "dial or listen: what this end does. By default a gateway listens, and everything else dials"),
    LinkOption(
      "jitter", "seconds of which a gateway that dials waits a random part when its link was lost; 1 over a network"),
  ]
}

/// What a transport may use while it opens a stream.
public struct LinkContext: Sendable {
  /// Where the channel, or a listener's channels, must live. An `EventLoop` is a group of one.
  public var group: any EventLoopGroup
  /// Takes what happens on the way to a stream, and nothing of what the stream carries.
  public var logger: Logger
  /// When `connect` must have ended.
  public var deadline: NIODeadline
  /// How many connections a listener may accept; whose medium keeps those that wait should leave them there.
  public var connections: ConnectionLimit
  /// Who should be at the far end of what `connect` opens, for messages.
  package var peer = LinkPeer.gateway

  /// The context of one call.
  /// - Parameters:
  ///   - group: where the channel, or a listener's channels, must live.
  ///   - logger: for what happens on the way.
  ///   - deadline: when `connect` must have ended.
  ///   - connections: how many a listener may accept.
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

/// Who should be at the far end of a link, from the end that dials.
package enum LinkPeer: Sendable, Hashable {
  case gateway
  /// Where it is the gateway that dials.
  case client

  /// What to start there.
  package var name: String {
    switch self {
    case .gateway: "\"byway gateway\""
    case .client: "\"byway proxy\" with ?open=listen"
    }
  }
}

/// A place where streams are accepted.
public protocol Listener: Sendable {
  /// The address as bound: a port of 0 is replaced by the one that was given.
  var address: LinkAddress { get }

  /// The accepted channels, as ``Transport`` describes them. Iterated once. It ends after ``close()``, or when the
  /// transport has no more to give (`stdio:` has one); it throws where accepting cannot go on.
  var channels: AsyncThrowingStream<any Channel, any Error> { get }

  /// Why nobody can come now, for people: there is no such device, for example. `nil` where nothing is known to be in the way. Any
  /// thread.
  var obstacle: String? { get }

  /// Reads anew the files that its address names, certificates for example. Others have none.
  /// - Returns: makes them count, for who comes from then on; until it is called, those read before stay in use.
  /// - Throws: ``BywayError`` where they cannot be used.
  func reread() async throws -> @Sendable () -> Void

  /// Stops accepting and removes what was made, a socket file for example. Accepted channels live on.
  func close() async
}

extension Listener {
  /// Nothing.
  public var obstacle: String? { nil }

  /// Nothing to read.
  public func reread() async throws -> @Sendable () -> Void { {} }
}
