package import BywayHTTPWire
package import NIOCore

/// The recorder of one exchange, which notifies its observers.
///
/// Created where the exchange is served, and passed on with its request's head: the later handlers record here when the request was sent
/// and answered.
///
/// `@unchecked Sendable`: used on the event loop of the exchange only.
package final class ObservedExchange: ExchangeRecord.State, @unchecked Sendable {
  private let observation: Observation
  let singleObserver: (any SingleExchangeObserver)?

  init(_ values: consuming ExchangeRecord.Values, by observation: Observation) {
    self.observation = observation
    singleObserver = observation.watcher?.observer(of: ExchangeRecord(copy values))
    super.init(values)
    observation.stepReader?.began(self)
  }

  /// The state until now.
  package var record: ExchangeRecord { ExchangeRecord(values) }

  private var isEnded: Bool { values.ended != nil }

  // MARK: For the sender of the request

  /// The sender was identified.
  package func identified(as user: UserName) {
    values.user = user.text
  }

  /// It is for a device that exists, or may exist.
  package func selected(_ device: ExchangeRecord.Device) {
    values.device = device
  }

  /// It goes to a target that the client has chosen.
  package func clientChoosesUpstream() {
    values.isClientsChoice = true
  }

  /// The request is sent with these fields, possibly again.
  package func sent(_ fields: borrowing FieldSection, to upstream: String, at now: NIODeadline) {
    // Requests of an interceptor after the end of the exchange, for example to refresh a cache, do not belong to it.
    guard !isEnded else { return }
    values.sent = now
    values.wire = ExchangeRecord.Wire()
    values.attempts += 1
    values.upstream = upstream
    singleObserver?.sent(copy fields, record)
    guard values.attempts == 1 else { return }
    observation.stepReader?.sent(self)
  }

  /// The first byte began to leave, on a line.
  package func left(at time: NIODeadline) {
    noteWire { $0.left = max(time, $1) }
  }

  /// The whole request was at the remote end of a line.
  package func arrived(at time: NIODeadline) {
    noteWire { $0.arrived = max(time, $0.left ?? $1) }
  }

  /// The remote end of a line began to send the response.
  package func replied(at time: NIODeadline) {
    noteWire { $0.replied = $0.replied ?? max(time, $0.arrived ?? $1) }
  }

  private func noteWire(_ note: (inout ExchangeRecord.Wire, _ sent: NIODeadline) -> Void) {
    guard !isEnded, let sent = values.sent else { return }
    note(&values.wire, sent)
    singleObserver?.passed(record)
  }

  /// Bytes of the response's body have arrived from the remote end.
  package func carried(_ count: Int) {
    values.carriedBytes += count
  }

  /// The remote end's response has these fields.
  package func answered(_ fields: borrowing FieldSection) {
    guard !isEnded else { return }
    noteAnswer()
    singleObserver?.answered(copy fields, record)
  }

  private func noteAnswer() {
    if values.answered == nil, !isEnded { values.answered = .now() }
  }

  /// A plugin makes a remark.
  package func noted(_ note: ExchangeRecord.Note) {
    guard !isEnded, values.notes.count < Self.noteLimit else { return }
    values.notes.append(note)
  }

  /// The maximum number of remarks of all plugins about an exchange.
  private static let noteLimit = 64

  // MARK: For the serving end

  func requestBody(_ bytes: ByteBuffer) {
    let count = bytes.readableBytes
    values.requestBytes += count
    observation.stepReader?.exchangeMoved(requestBytes: count, responseBytes: 0)
    singleObserver?.requestBody(bytes)
  }

  func requestEnded() {
    guard values.requestEnded == nil else { return }
    values.requestEnded = .now()
    singleObserver?.requestEnded(record)
  }

  func responseBegan(_ head: borrowing FieldSection) {
    noteAnswer()
    values.status = head.status
    singleObserver?.responseBegan(copy head, record)
  }

  func responseBody(_ bytes: ByteBuffer) {
    let count = bytes.readableBytes
    values.responseBytes += count
    observation.stepReader?.exchangeMoved(requestBytes: 0, responseBytes: count)
    singleObserver?.responseBody(bytes)
  }

  func trailers(_ fields: FieldSection?) {
    if let fields, !fields.isEmpty { singleObserver?.trailers(fields) }
  }

  /// The first failure is the cause of the others.
  func failed(_ error: @autoclosure () -> BywayError, by party: ExchangeRecord.Party? = nil) {
    guard values.failure == nil, !isEnded else { return }
    let error = error()
    values.failure = party.map { .init(code: error.code, party: $0) } ?? .init(error.code)
    singleObserver?.failed(error, record)
  }

  func ended() {
    guard !isEnded else { return }
    values.ended = .now()
    observation.reader?.ended(self)
    singleObserver?.ended(record)
  }
}
