import Byway
import HTTPWire
import NIOCore

/// What an inspector knows of one exchange.
struct Sighting: Sendable {
  /// What passed of a body, and its beginning; of a conversation its end.
  struct KeptBody: Sendable {
    var kept = ByteBuffer()
    /// Bytes before those: messages that have made room for later ones.
    var dropped = 0
    /// Bytes that are still to come of a message that is too long to be kept.
    var skipping = 0
    /// All that passed.
    var count = 0
    /// Of a conversation: where in it each of the latest pieces ends, and when that came, in milliseconds since 1970.
    var arrivals: [Arrival] = []

    struct Arrival: Sendable {
      let end: Int
      let time: Double
    }

    /// Bytes of memory, as they are bounded.
    var size: Int { kept.readableBytes + arrivals.count * MemoryLayout<Arrival>.stride }
  }

  /// Another exchange on the same link.
  struct Companion: Sendable, Hashable {
    let id: Int
    /// Of its bodies.
    let bytes: Int
  }

  struct Failure: Sendable {
    let code: BywayError.Code
    let party: ExchangeRecord.Party
    let message: String
  }

  /// Unique in this process; later ones are greater.
  let id: Int
  /// Greater with each change of any exchange.
  var version: UInt64
  /// When its head had come, in milliseconds since 1970.
  let begun: Double
  var record: ExchangeRecord
  /// As they left, and as the far end's answer came: this hop may have changed them.
  var sent: FieldSection?
  var answered: FieldSection?
  /// What the client got.
  var given: FieldSection? {
    didSet { form = Conversation.Form(of: self) }
  }
  var trailers: FieldSection?
  /// The exchange that it repeats.
  var resends: Int?
  /// Exchanges that were under way on the same link when this one was sent, the latest last.
  var behind: [Companion] = []
  /// What the link has carried for others from when this one was sent until its answer came, the most first.
  var meanwhile: [Companion] = []
  var requestBody = KeptBody()
  var responseBody = KeptBody()
  var failure: Failure?
  /// Its bodies are messages; settled by its two heads, as each piece of a body asks for it.
  private(set) var form: Conversation.Form?

  init(id: Int, version: UInt64, begun: Double, record: ExchangeRecord) {
    self.id = id
    self.version = version
    self.begun = begun
    self.record = record
    form = Conversation.Form(of: self)
  }

  /// The request's fields as its client has sent them. This hop has already added the last member of `Via`.
  var asked: FieldSection {
    guard record.role == .server, let via = record.head.value(of: .via) else { return record.head }
    var asked = record.head
    asked.remove(.via)
    if let comma = via.lastIndex(of: ",") { asked.append(.via, String(via[..<comma])) }
    return asked
  }

  var isRunning: Bool { record.ended == nil }

  /// Bytes of both bodies that the link has carried.
  var carriedBytes: Int { requestBody.count + responseBody.count }

  /// Bytes of all heads that are kept of it, about.
  var headBytes: Int {
    record.head.byteCount + (sent?.byteCount ?? 0) + (answered?.byteCount ?? 0) + (given?.byteCount ?? 0)
      + (trailers?.byteCount ?? 0)
  }

  var keptBytes: Int { requestBody.size + responseBody.size }
}
