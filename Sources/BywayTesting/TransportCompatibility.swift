public import Byway
internal import Logging
public import NIOCore
internal import NIOPosix

/// What any transport must pass to carry links: the checks of its contract, ``Byway/Transport``.
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
    /// ``Byway/Listener/address``.
    case listener(@Sendable () throws -> LinkAddress)
    /// A program that sends back what it gets, as `cat` does, and ends when its input ends.
    case echo(LinkAddress)
  }

  public var transport: any Transport
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

  public var group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton

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
    case opens = "opens a channel as the contract describes it"
    case exchanges = "carries bytes both ways, exactly"
    case sendsSingleBytes = "carries bytes that are written one at a time"
    case keepsEarlyBytes = "keeps what arrives before the channel's owner reads"
    case endsSending = "ends its sending direction alone, and the far end sees that"
    case answersAfterEnd = "sends on after the far end has ended its direction"
    case pushesBack = "stops a writer while nobody reads"
    case carriesBulk = "carries bulk, exactly"
    case opensMany = "carries many links at once, each its own bytes"
    case noticesDeath = "notices the death of the far end"
    case releases = "releases its descriptors"
    case refuses = "says at once that nobody is there"
    case keepsDeadline = "gives up at the deadline"
    case endsListening = "ends listening, and accepted channels live on"
    case refusesTakenAddress = "does not listen twice on one address"

    public var description: String { rawValue }
  }
}
