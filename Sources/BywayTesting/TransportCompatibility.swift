public import Byway
import Logging
public import NIOCore
import NIOPosix

/// The checks of the contract for transports, `Transport`, which a transport must pass to carry links.
///
/// Independent of test frameworks: run each of ``checks`` in a test of your own. A failed check throws a ``CompatibilityFailure`` with the
/// expected behaviour; no check takes longer than its deadlines.
///
///     let kit = TransportCompatibility(MyTransport(), farEnd: .listener { try LinkAddress("my:…") })
///     for check in kit.checks { try await kit.run(check) }
///
/// A `Sendable` value. Do not run two checks at the same time, as one of them counts the descriptors of the process.
public struct TransportCompatibility: Sendable {
  /// The other end of the links under test.
  public enum FarEnd: Sendable {
    /// The transport itself. For each check the kit listens on an address from the closure, and dials `Listener.address`.
    case listener(@Sendable () throws -> LinkAddress)
    /// A program that sends back its input, as `cat` does, and ends when its input ends.
    case echo(LinkAddress)
  }

  /// The transport under test.
  public var transport: any Transport
  /// The other end of its links.
  public var farEnd: FarEnd
  /// Options of the address to dial that the one to listen on does not have, for example keys: `"ca=…&name=…"`.
  public var dialOptions: String?
  /// An address where connecting fails at once.
  public var refusing: LinkAddress?
  /// An address where connecting gets no answer, so that only the deadline ends it.
  public var silent: LinkAddress?
  /// A remote end that exits when it receives a byte; needed only if the remote end is not a listener.
  public var dying: LinkAddress?

  /// The maximum number of concurrent links: 1 for a line, which carries one after another.
  public var linksAtOnce = 64
  /// The number of bytes that the bulk check sends.
  public var bulkByteCount = 1 << 28
  /// The maximum number of bytes on the way without a reader: buffers of the kernel, of the channel and of the medium.
  public var bufferedByteLimit = 32 << 20
  /// The time limit of each step of a check: to open, to read sent bytes, to end.
  public var stepLimit = Duration.seconds(10)

  /// The group of its channels; by default the threads that the process shares.
  public var group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton

  /// Creates a kit for a transport; further facts about it are set as properties.
  /// - Parameters:
  ///   - transport: the transport under test.
  ///   - farEnd: the other end of its links.
  public init(_ transport: any Transport, farEnd: FarEnd) {
    self.transport = transport
    self.farEnd = farEnd
  }

  /// The checks that apply to the transport, given the known facts.
  public var checks: [Check] {
    Check.allCases.filter { check in
      switch (check, farEnd) {
      case (.refuses, _): refusing != nil
      case (.keepsDeadline, _): silent != nil
      case (.noticesDeath, .echo): dying != nil
      case (.opensMany, _): linksAtOnce > 1
      case (.answersAfterEnd, .echo), (.endsListening, .echo), (.refusesTakenAddress, .echo): false
      default: true
      }
    }
  }

  /// Runs one check, within its own deadlines.
  /// - Throws: ``CompatibilityFailure``, with the expected and the actual behaviour.
  public func run(_ check: Check) async throws {
    do {
      switch check {
      case .opens: try await checkOpening()
      case .exchanges: try await checkExchange()
      case .sendsSingleBytes: try await checkSingleBytes()
      case .keepsEarlyBytes: try await checkEarlyBytes()
      case .endsSending: try await checkEndOfSending()
      case .answersAfterEnd: try await checkAnswerAfterEnd()
      case .pushesBack: try await checkBackPressure()
      case .carriesBulk: try await checkBulk()
      case .opensMany: try await checkManyLinks()
      case .noticesDeath: try await checkDeath()
      case .releases: try await checkRelease()
      case .refuses: try await checkRefusal()
      case .keepsDeadline: try await checkDeadline()
      case .endsListening: try await checkEndOfListening()
      case .refusesTakenAddress: try await checkTakenAddress()
      }
    } catch let error as CompatibilityFailure {
      throw error.naming(check, of: transport.scheme)
    } catch {
      throw CompatibilityFailure("failed: \(error)").naming(check, of: transport.scheme)
    }
  }

  /// A property that every transport must have.
  public enum Check: String, Sendable, CaseIterable, CustomStringConvertible {
    /// The channel is active, reads nothing by itself, and half-closes.
    case opens = "opens a channel as the contract describes it"
    /// Bytes that are written at one end are read at the other, in both directions.
    case exchanges = "carries bytes both ways, exactly"
    /// Small writes are neither lost nor reordered.
    case sendsSingleBytes = "carries bytes that are written one at a time"
    /// Bytes that the peer sends before the owner reads are kept, even after the peer has ended.
    case keepsEarlyBytes = "keeps what arrives before the channel's owner reads"
    /// `close(mode: .output)` ends one direction.
    case endsSending = "ends its sending direction alone, and the far end sees that"
    /// The direction that is still open carries on. With ``FarEnd/listener(_:)`` only.
    case answersAfterEnd = "sends on after the far end has ended its direction"
    /// The writer stops after at most ``TransportCompatibility/bufferedByteLimit`` bytes without a reader.
    case pushesBack = "stops a writer while the far end does not read"
    /// ``TransportCompatibility/bulkByteCount`` bytes arrive as they were sent.
    case carriesBulk = "carries large amounts, exactly"
    /// ``TransportCompatibility/linksAtOnce`` concurrent links do not mix their bytes. Only if that is more than one.
    case opensMany = "carries many links at once, without mixing their bytes"
    /// The channel closes when the remote end exits. With ``FarEnd/echo(_:)``, only if ``TransportCompatibility/dying`` is set.
    case noticesDeath = "notices when the far end dies"
    /// Closed links leave no descriptor behind.
    case releases = "releases its descriptors"
    /// Connecting to ``TransportCompatibility/refusing`` fails before its deadline, with a message. Only if that is set.
    case refuses = "fails at once where nothing listens"
    /// Connecting to ``TransportCompatibility/silent`` fails at its deadline. Only if that is set.
    case keepsDeadline = "gives up at the deadline"
    /// A listener that was closed accepts nothing more. With ``FarEnd/listener(_:)`` only.
    case endsListening = "stops listening, and keeps accepted channels open"
    /// A second listener at an address fails. With ``FarEnd/listener(_:)`` only.
    case refusesTakenAddress = "does not listen twice on one address"

    /// The title of the check.
    public var description: String { rawValue }
  }
}
