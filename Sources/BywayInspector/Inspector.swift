package import Byway
import HTTPWire
import NIOCore
import Primitives
import Synchronization

/// An observer of exchanges, which keeps the last ones for the inspector's users. Safe on any thread.
package final class Inspector: ExchangeWatching {
  private let exchanges: Mutex<InspectedExchanges>

  /// - Parameter bodyLimit: the number of bytes to keep of each body; at most the number kept of all bodies.
  package init(bodyLimit: Int = 1 << 20) {
    let limits = InspectedExchanges.Limits()
    exchanges = Mutex(InspectedExchanges(limits: .init(body: min(bodyLimit, limits.bodies))))
  }

  package func observer(of exchange: ExchangeRecord) -> (any SingleExchangeObserver)? {
    let time = WallTime.now().milliseconds
    return ExchangeRecorder(exchanges.withLock { $0.begin(exchange, at: time) }, of: self)
  }

  package func exchangeEnded(_ exchange: ExchangeRecord) {}

  func read<Result: Sendable>(_ read: @Sendable (borrowing InspectedExchanges) -> Result) -> Result {
    exchanges.withLock { read($0) }
  }

  func clear() {
    exchanges.withLock { $0.clear() }
  }

  func note(_ id: Int, resends other: Int) {
    exchanges.withLock { $0.update(id) { $0.resends = other } }
  }

  fileprivate func update(_ id: Int, _ change: (inout InspectedExchange) -> Void) {
    exchanges.withLock { $0.update(id, change) }
  }

  fileprivate func sent(_ id: Int, _ fields: FieldSection, _ record: ExchangeRecord) {
    exchanges.withLock { $0.sent(id, fields, record) }
  }

  fileprivate func answered(_ id: Int, _ fields: FieldSection, _ record: ExchangeRecord) {
    exchanges.withLock { $0.answered(id, fields, record) }
  }

  fileprivate func end(_ id: Int, _ record: ExchangeRecord) {
    exchanges.withLock { $0.end(id, record) }
  }

  fileprivate func append(_ bytes: ByteBuffer, to body: InspectedExchanges.Body, of id: Int) {
    let time = WallTime.now().milliseconds
    exchanges.withLock { $0.append(bytes, to: body, of: id, at: time) }
  }
}

/// Records one exchange.
private final class ExchangeRecorder: SingleExchangeObserver {
  private let id: Int
  private let inspector: Inspector

  init(_ id: Int, of inspector: Inspector) {
    self.id = id
    self.inspector = inspector
  }

  func sent(_ fields: FieldSection, _ record: ExchangeRecord) {
    inspector.sent(id, fields, record)
  }

  func requestBody(_ bytes: ByteBuffer) {
    inspector.append(bytes, to: .request, of: id)
  }

  /// Updates the record of the exchange, with a further change.
  private func note(_ record: ExchangeRecord, _ change: (inout InspectedExchange) -> Void = { _ in }) {
    inspector.update(id) {
      $0.record = record
      change(&$0)
    }
  }

  func passed(_ record: ExchangeRecord) {
    note(record)
  }

  func requestEnded(_ record: ExchangeRecord) {
    note(record)
  }

  func answered(_ fields: FieldSection, _ record: ExchangeRecord) {
    inspector.answered(id, fields, record)
  }

  func responseBegan(_ fields: FieldSection, _ record: ExchangeRecord) {
    note(record) { $0.given = fields }
  }

  func responseBody(_ bytes: ByteBuffer) {
    inspector.append(bytes, to: .response, of: id)
  }

  func trailers(_ fields: FieldSection) {
    inspector.update(id) { $0.trailers = fields }
  }

  func failed(_ error: BywayError, _ record: ExchangeRecord) {
    note(record) {
      $0.failure = record.failure.map { .init(code: $0.code, party: $0.party, message: error.message) }
    }
  }

  func ended(_ record: ExchangeRecord) {
    inspector.end(id, record)
  }
}
