public import Byway
import Logging
public import NIOCore
import NIOPosix

/// What any transport must pass to carry links: the checks of its contract, `Transport`.
///
/// Bound to no test framework: run each of ``checks`` in a test of your own. A check that fails throws a
/// ``CompatibilityFailure`` that says what was expected; none takes longer than its deadlines.
///
///     let kit = TransportCompatibility(MyTransport(), farEnd: .listener { try LinkAddress("my:…") })
///     for check in kit.checks { try await kit.run(check) }
///
/// A `Sendable` value; but let no two checks run at the same time, as one counts the descriptors of the process.
public struct TransportCompatibility: Sendable {
  /// Who is at the other end of the links under test.
  public enum FarEnd: Sendable {
    /// The transport itself. The kit listens on what the closure gives, again for each check, and dials
    /// `Listener.address`.
    case listener(@Sendable () throws -> LinkAddress)
    /// A program that sends back what it gets, as `cat` does, and ends when its input ends.
    case echo(LinkAddress)
  }

  /// What is under test.
  public var transport: any Transport
  /// Who answers it.
  public var farEnd: FarEnd
  /// Options that the address to dial has and the one to listen on has not, keys for example: `"ca=…&name=…"`.
  public var dialOptions: String?
  /// Where connecting fails at once.
  public var refusing: LinkAddress?
  /// Where connecting gets no answer, so that only the deadline ends it.
  public var silent: LinkAddress?
  /// A far end that dies as soon as it gets a byte; needed only where the far end is not a listener.
  public var dying: LinkAddress?

  /// How many links there can be at once: 1 for a line, which carries one after another.
  public var linksAtOnce = 64
  /// What the bulk check sends.
  public var bulkByteCount = 1 << 28
  /// What may be on its way while nobody reads: buffers of the kernel, of the channel and of the medium.
  public var bufferedByteLimit = 32 << 20
  /// What one step of a check may take: to open, to read what was sent, to end.
  public var stepLimit = TimeAmount.seconds(10)

  /// Where its channels live; by default the threads that the process shares.
  public var group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton

  /// A kit with nothing known about the transport but who answers it; the properties tell it more.
  /// - Parameters:
  ///   - transport: what is under test.
  ///   - farEnd: who is at the other end of its links.
  public init(_ transport: any Transport, farEnd: FarEnd) {
    self.transport = transport
    self.farEnd = farEnd
  }

  /// Those that make sense for what is known about the transport.
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
  /// - Throws: ``CompatibilityFailure``, which says what was expected and what happened instead.
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

  /// One property that every transport has.
  public enum Check: String, Sendable, CaseIterable, CustomStringConvertible {
    /// The channel is active, reads nothing by itself, and half-closes.
    case opens = "opens a channel as the contract describes it"
    /// What is written at one end is read at the other, in both directions.
    case exchanges = "carries bytes both ways, exactly"
    /// Small writes are neither lost nor reordered.
    case sendsSingleBytes = "carries bytes that are written one at a time"
    /// What the peer sends before anyone reads is there when somebody does, also after the peer has ended.
    case keepsEarlyBytes = "keeps what arrives before the channel's owner reads"
    /// `close(mode: .output)` ends one direction.
    case endsSending = "ends its sending direction alone, and the far end sees that"
    /// The direction that is still open carries on. With ``FarEnd/listener(_:)`` only.
    case answersAfterEnd = "sends on after the far end has ended its direction"
    /// At most ``TransportCompatibility/bufferedByteLimit`` can be written while nobody reads.
    case pushesBack = "stops a writer while nobody reads"
    /// ``TransportCompatibility/bulkByteCount`` bytes arrive as they were sent.
    case carriesBulk = "carries bulk, exactly"
    /// ``TransportCompatibility/linksAtOnce`` links at once do not mix their bytes. Where that is more than one.
    case opensMany = "carries many links at once, each its own bytes"
    /// The channel closes when the far end dies. With ``FarEnd/echo(_:)``, only where ``TransportCompatibility/dying`` is
    /// set.
    case noticesDeath = "notices the death of the far end"
    /// Closed links leave no descriptor behind.
    case releases = "releases its descriptors"
    /// Connecting to ``TransportCompatibility/refusing`` fails before its deadline, with a message. Where that is set.
    case refuses = "says at once that nobody is there"
    /// Connecting to ``TransportCompatibility/silent`` fails at its deadline. Where that is set.
    case keepsDeadline = "gives up at the deadline"
    /// A listener that was closed accepts nothing more. With ``FarEnd/listener(_:)`` only.
    case endsListening = "ends listening, and accepted channels live on"
    /// A second listener at an address fails. With ``FarEnd/listener(_:)`` only.
    case refusesTakenAddress = "does not listen twice on one address"

    /// The sentence that names it.
    public var description: String { rawValue }
  }
}
