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
/// - loses no bytes that arrive before: `prepareForHandover(to:)` is the last call of the initializer of a NIO channel;
/// - belongs to its new owner, which closes it. `close(mode: .output)` ends the sending direction only.
///
/// A `Sendable` value; its functions may be called from any thread, also concurrently.
public protocol Transport: Sendable {
  /// The scheme of its addresses, in lower case: `unix`.
  var scheme: String { get }

  /// The forms of its addresses, for `byway help links`.
  var forms: [AddressForm] { get }

  /// The options of an address of this scheme, in addition to those that every link has, such as `http` and `line`.
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
  /// `[]`: help does not list the scheme.
  public var forms: [AddressForm] { [] }

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
