import Byway
import BywayHTTPWire
import NIOCore

/// The inspector's record of one exchange.
struct InspectedExchange: Sendable {
  /// The size of a body, and its beginning; for a conversation, its latest part.
  struct KeptBody: Sendable {
    var kept = ByteBuffer()
    /// The number of bytes before ``kept``: messages that were dropped for later ones.
    var dropped = 0
    /// The number of bytes still to come of a message that is too long to be kept.
    var skipping = 0
    /// The number of all bytes of the body so far.
    var count = 0
    /// The end and the time of arrival of each of the latest pieces of a conversation, in milliseconds since 1970.
    var arrivals: [Arrival] = []

    struct Arrival: Sendable {
      let end: Int
      let time: Double
    }

    /// The bytes of memory that count towards the limit.
    var size: Int { kept.readableBytes + arrivals.count * MemoryLayout<Arrival>.stride }
  }

  /// Another exchange on the same link.
  struct ConcurrentExchange: Sendable, Hashable {
    let id: Int
    /// The bytes of its bodies.
    let bytes: Int
  }

  /// A breakpoint's effect on it.
  enum Break: Sendable, Hashable {
    /// It waits.
    /// - Parameter until: its deadline, in milliseconds since 1970.
    case paused(id: Int, at: BreakpointRule.Point, until: Double)
    /// It passed, because too many were waiting.
    case missed
  }

  /// A time in which a user's rule kept it waiting.
  struct Hold: Sendable {
    enum Reason: String, Sendable {
      case breakpoint, fault
    }

    let reason: Reason
    let from: NIODeadline
    /// `nil` while it lasts.
    fileprivate(set) var until: NIODeadline?
  }

  struct Failure: Sendable {
    let code: BywayError.Code
    let party: ExchangeRecord.Party
    let message: String
  }

  /// Unique in this process, and increasing.
  let id: Int
  /// Increases with each change of any exchange.
  var version: UInt64
  /// The time when its head was received, in milliseconds since 1970.
  let begun: Double
  var record: ExchangeRecord
  /// The request's fields as sent, and the response's fields as received from the far end: this hop may have changed them.
  var sent: FieldSection?
  var answered: FieldSection?
  /// The response's fields as the client received them.
  var given: FieldSection? {
    didSet { form = Conversation.Form(of: self) }
  }
  var trailers: FieldSection?
  /// The exchange that it repeats.
  var resends: Int?
  /// The exchanges that were running on the same link when this one was sent, the latest last.
  var behind: [ConcurrentExchange] = []
  /// The other exchanges, with the bytes that the link carried for them between this request and its answer, the largest first.
  var meanwhile: [ConcurrentExchange] = []
  var requestBody = KeptBody()
  var responseBody = KeptBody()
  var failure: Failure?
  /// `nil` if no breakpoint has an effect on it now.
  var breakpoint: Break?
  /// The times in which rules kept it waiting, in their order.
  private(set) var holds: [Hold] = []
  /// The format of the messages in its bodies, if it has any. Stored, because it is needed for each piece of a body.
  private(set) var form: Conversation.Form?

  init(id: Int, version: UInt64, begun: Double, record: ExchangeRecord) {
    self.id = id
    self.version = version
    self.begun = begun
    self.record = record
    form = Conversation.Form(of: self)
  }

  /// The request's fields as sent by the client, without the last member of `Via`, which this hop has added.
  var asked: FieldSection {
    guard record.role == .server, let via = record.head.value(of: .via) else { return record.head }
    var asked = record.head
    asked.remove(.via)
    if let comma = via.lastIndex(of: ",") { asked.append(.via, String(via[..<comma])) }
    return asked
  }

  var isRunning: Bool { record.ended == nil }

  /// A rule keeps it waiting from now on. The delays of several fault rules count as one.
  mutating func hold(because reason: Hold.Reason, at now: NIODeadline) {
    if reason == .fault, holds.last?.reason == .fault {
      holds[holds.count - 1].until = nil
    } else {
      holds.append(Hold(reason: reason, from: now))
    }
  }

  /// The rule lets it go on.
  mutating func release(at now: NIODeadline) {
    guard let last = holds.indices.last else { return }
    holds[last].until = now
  }

  /// The number of bytes of both bodies.
  var carriedBytes: Int { requestBody.count + responseBody.count }

  /// The approximate number of bytes of the record with all its heads, without bodies.
  var headBytes: Int {
    MemoryLayout<Self>.stride + holds.count * MemoryLayout<Hold>.stride + record.size + (sent?.byteCount ?? 0)
      + (answered?.byteCount ?? 0)
      + (given?.byteCount ?? 0) + (trailers?.byteCount ?? 0)
  }

  var keptBytes: Int { requestBody.size + responseBody.size }
}
