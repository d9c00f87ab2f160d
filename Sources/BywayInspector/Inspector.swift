package import Byway
import BywayHTTPWire
import BywayPrimitives
import NIOCore
import Synchronization

/// An observer of exchanges, which keeps the last ones for the inspector's users. Safe on any thread.
///
/// The process's ``MemoryBudget`` counts what it keeps. It keeps at most a quarter of the budget, and less when others need memory.
package final class Inspector: ExchangeObserverFactory, SpareStore {
  private struct State {
    var exchanges: InspectedExchanges
    /// The bytes that the budget counts.
    var reported = 0
  }

  /// The number of bytes by which the store may grow without reporting it.
  private static let step = 32 * 1024

  private let bodyLimit: Int
  let budget: MemoryBudget
  private let state: Mutex<State>

  /// - Parameter bodyLimit: the number of bytes to keep of each body; at most the number kept of all bodies.
  package init(bodyLimit: Int = 1 << 20, within budget: MemoryBudget = .shared) {
    self.bodyLimit = bodyLimit
    self.budget = budget
    state = Mutex(State(exchanges: InspectedExchanges(limits: .init(body: bodyLimit, within: budget.limit))))
    budget.add(self)
  }

  deinit {
    budget.changeSpare(by: -state.withLock(\.reported))
  }

  package func observer(of exchange: ExchangeRecord) -> (any SingleExchangeObserver)? {
    let time = WallTime.now().milliseconds
    return ExchangeRecorder(change { $0.begin(exchange, at: time) }, of: self)
  }

  package func exchangeEnded(_ exchange: ExchangeRecord) {}

  package func release(_ bytes: Int) {
    change(reportingFrom: 0) { $0.release(bytes) }
  }

  func read<Result: Sendable>(_ read: @Sendable (borrowing InspectedExchanges) -> Result) -> Result {
    state.withLock { read($0.exchanges) }
  }

  func clear() {
    change { $0.clear() }
  }

  func note(_ id: Int, resends other: Int) {
    change { $0.update(id) { $0.resends = other } }
  }

  func note(_ id: Int, _ breakpoint: InspectedExchange.Break?) {
    let now = NIODeadline.now()
    change {
      $0.update(id) {
        $0.breakpoint = breakpoint
        switch breakpoint {
        case .paused: $0.hold(because: .breakpoint, at: now)
        case nil: $0.release(at: now)
        case .missed: break
        }
      }
    }
  }

  /// A fault rule delays an exchange, or no longer does.
  func note(_ id: Int, isDelayed: Bool) {
    let now = NIODeadline.now()
    change { $0.update(id) { if isDelayed { $0.hold(because: .fault, at: now) } else { $0.release(at: now) } } }
  }

  /// Returns the id of the exchange that a request belongs to; `nil` if it is not recorded here.
  func id(of request: Request) -> Int? {
    guard let recorder = request.observer as? ExchangeRecorder, recorder.inspector === self else { return nil }
    return recorder.id
  }

  /// Changes the records, and reports the change of their size to the budget, if it is large enough.
  fileprivate func change<Result: Sendable>(
    reportingFrom step: Int = Inspector.step, _ change: (inout InspectedExchanges) -> Result
  ) -> Result {
    let limit = budget.limit
    let (result, grown) = state.withLock { state in
      state.exchanges.limits = .init(body: bodyLimit, within: limit)
      let result = change(&state.exchanges)
      let grown = state.exchanges.byteCount - state.reported
      guard abs(grown) >= step || state.exchanges.byteCount == 0 else { return (result, 0) }
      state.reported += grown
      return (result, grown)
    }
    // Not within the lock: the budget may ask for records in turn.
    budget.changeSpare(by: grown)
    return result
  }
}

/// Records one exchange.
private final class ExchangeRecorder: SingleExchangeObserver {
  let id: Int
  let inspector: Inspector

  init(_ id: Int, of inspector: Inspector) {
    self.id = id
    self.inspector = inspector
  }

  func sent(_ fields: FieldSection, _ record: ExchangeRecord) {
    inspector.change { $0.sent(id, fields, record) }
  }

  func requestBody(_ bytes: ByteBuffer) {
    append(bytes, to: .request)
  }

  /// Updates the record of the exchange, with a further change.
  private func note(_ record: ExchangeRecord, _ change: (inout InspectedExchange) -> Void = { _ in }) {
    inspector.change { exchanges in
      exchanges.update(id) {
        $0.record = record
        change(&$0)
      }
    }
  }

  private func append(_ bytes: ByteBuffer, to body: InspectedExchanges.Body) {
    let time = WallTime.now().milliseconds
    inspector.change { $0.append(bytes, to: body, of: id, at: time) }
  }

  func passed(_ record: ExchangeRecord) {
    note(record)
  }

  func requestEnded(_ record: ExchangeRecord) {
    note(record)
  }

  func answered(_ fields: FieldSection, _ record: ExchangeRecord) {
    inspector.change { $0.answered(id, fields, record) }
  }

  func responseBegan(_ fields: FieldSection, _ record: ExchangeRecord) {
    note(record) { $0.given = fields }
  }

  func responseBody(_ bytes: ByteBuffer) {
    append(bytes, to: .response)
  }

  func trailers(_ fields: FieldSection) {
    inspector.change { $0.update(id) { $0.trailers = fields } }
  }

  func failed(_ error: BywayError, _ record: ExchangeRecord) {
    note(record) {
      $0.failure = record.failure.map { .init(code: $0.code, party: $0.party, message: error.message) }
    }
  }

  func ended(_ record: ExchangeRecord) {
    inspector.change { $0.end(id, record) }
  }
}
