import HTTPWire
package import NIOCore

/// Writes down what becomes of one exchange, and tells those who observe it.
///
/// Made where the exchange is served, and travels with its request's head: whoever takes the request on tells here when it left
/// and when it was answered.
///
/// `@unchecked Sendable`: touched on the event loop of the exchange only.
package final class ObservedExchange: @unchecked Sendable {
  private let observers: [any ExchangeObserver]
  package private(set) var record: ExchangeRecord

  init(_ record: consuming ExchangeRecord, observers: [any ExchangeObserver]) {
    for observer in observers { observer.exchangeBegan(record) }
    self.record = record
    self.observers = observers
  }

  /// The record is moved out and back: a copy of it would count every reference in it, for each observer.
  private func tellObservers(_ tell: (any ExchangeObserver, ExchangeRecord) -> Void) {
    var told = ExchangeRecord.nothing
    swap(&told, &record)
    for observer in observers { tell(observer, told) }
    swap(&told, &record)
  }

  // MARK: From the one who takes it on

  /// It goes to a place that the client has named.
  package func clientChoosesUpstream() {
    record.isClientsChoice = true
  }

  /// The request leaves, perhaps for the second time.
  package func sent(to upstream: String, at now: NIODeadline) {
    // What an interceptor asks for afterwards, to have it ready for the next one, is not of this exchange.
    guard record.ended == nil else { return }
    record.sent = now
    record.attempts += 1
    record.upstream = upstream
    guard record.attempts == 1 else { return }
    tellObservers { $0.exchangeSent($1) }
  }

  package func answered() {
    if record.answered == nil, record.ended == nil { record.answered = .now() }
  }

  // MARK: From the one who serves it

  func requestEnded() {
    if record.requestEnded == nil { record.requestEnded = .now() }
  }

  func responseBegan(status: Int?) {
    answered()
    record.status = status
  }

  func moved(requestBytes: Int = 0, responseBytes: Int = 0) {
    record.requestBytes += requestBytes
    record.responseBytes += responseBytes
    for observer in observers { observer.exchangeMoved(requestBytes: requestBytes, responseBytes: responseBytes) }
  }

  /// The first failure is the cause of the others.
  func failed(_ code: BywayError.Code, by party: ExchangeRecord.Party? = nil) {
    guard record.failure == nil, record.ended == nil else { return }
    record.failure = party.map { .init(code: code, party: $0) } ?? .init(code)
  }

  func ended() {
    guard record.ended == nil else { return }
    record.ended = .now()
    tellObservers { $0.exchangeEnded($1) }
  }
}
