package import BywayHTTPWire
package import NIOCore

/// The recorder of one exchange, which notifies its observers.
///
/// Created where the exchange is served, and passed on with its request's head: the later handlers record here when the request was sent
/// and answered.
///
/// `@unchecked Sendable`: used on the event loop of the exchange only.
package final class ObservedExchange: @unchecked Sendable {
  private let observers: [any ExchangeObserver]
  let singleObserver: (any SingleExchangeObserver)?
  package private(set) var record: ExchangeRecord

  init(
    _ record: consuming ExchangeRecord, observers: [any ExchangeObserver], watcher: (any ExchangeWatching)? = nil
  ) {
    for observer in observers { observer.exchangeBegan(record) }
    singleObserver = watcher.flatMap { $0.observer(of: record) }
    self.record = record
    self.observers = observers
  }

  private var isEnded: Bool { record.ended != nil }

  // MARK: For the sender of the request

  /// The sender was identified.
  package func identified(as user: UserName) {
    record.user = user.text
  }

  /// It is for a device that exists, or may exist.
  package func selected(_ device: ExchangeRecord.Device) {
    record.device = device
  }

  /// It goes to a target that the client has chosen.
  package func clientChoosesUpstream() {
    record.isClientsChoice = true
  }

  /// The request is sent with these fields, possibly again.
  package func sent(_ fields: borrowing FieldSection, to upstream: String, at now: NIODeadline) {
    // Requests of an interceptor after the end of the exchange, for example to refresh a cache, do not belong to it.
    guard !isEnded else { return }
    record.sent = now
    record.wire = ExchangeRecord.Wire()
    record.attempts += 1
    record.upstream = upstream
    singleObserver?.sent(copy fields, record)
    guard record.attempts == 1 else { return }
    for observer in observers { observer.exchangeSent(record) }
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
    guard !isEnded, let sent = record.sent else { return }
    note(&record.wire, sent)
    singleObserver?.passed(record)
  }

  /// Bytes of the response's body have arrived from the remote end.
  package func carried(_ count: Int) {
    record.carriedBytes += count
  }

  /// The remote end's response has these fields.
  package func answered(_ fields: borrowing FieldSection) {
    guard !isEnded else { return }
    noteAnswer()
    singleObserver?.answered(copy fields, record)
  }

  private func noteAnswer() {
    if record.answered == nil, !isEnded { record.answered = .now() }
  }

  /// A plugin makes a remark.
  package func noted(_ note: ExchangeRecord.Note) {
    guard !isEnded, record.notes.count < Self.noteLimit else { return }
    record.notes.append(note)
  }

  /// The maximum number of remarks of all plugins about an exchange.
  private static let noteLimit = 64

  // MARK: For the serving end

  func requestBody(_ bytes: ByteBuffer) {
    let count = bytes.readableBytes
    record.requestBytes += count
    for observer in observers { observer.exchangeMoved(requestBytes: count, responseBytes: 0) }
    singleObserver?.requestBody(bytes)
  }

  func requestEnded() {
    guard record.requestEnded == nil else { return }
    record.requestEnded = .now()
    singleObserver?.requestEnded(record)
  }

  func responseBegan(_ head: borrowing FieldSection) {
    noteAnswer()
    record.status = head.status
    singleObserver?.responseBegan(copy head, record)
  }

  func responseBody(_ bytes: ByteBuffer) {
    let count = bytes.readableBytes
    record.responseBytes += count
    for observer in observers { observer.exchangeMoved(requestBytes: 0, responseBytes: count) }
    singleObserver?.responseBody(bytes)
  }

  func trailers(_ fields: FieldSection?) {
    if let fields, !fields.isEmpty { singleObserver?.trailers(fields) }
  }

  /// The first failure is the cause of the others.
  func failed(_ error: @autoclosure () -> BywayError, by party: ExchangeRecord.Party? = nil) {
    guard record.failure == nil, !isEnded else { return }
    let error = error()
    record.failure = party.map { .init(code: error.code, party: $0) } ?? .init(error.code)
    singleObserver?.failed(error, record)
  }

  func ended() {
    guard !isEnded else { return }
    record.ended = .now()
    for observer in observers { observer.exchangeEnded(record) }
    singleObserver?.ended(record)
  }
}
