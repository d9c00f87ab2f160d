package import Byway
import Synchronization

/// An observer that counts exchanges that have begun and exchanges that have ended.
package final class ExchangeLedger: ExchangeObserver {
  package struct Counts: Sendable {
    package var begun = 0
    package var sent = 0
    package var ended = 0
    /// The number of exchanges that were sent and have ended.
    package var endedSent = 0
  }

  private let mutex = Mutex(Counts())

  package init() {}

  package var counts: Counts { mutex.withLock(\.self) }

  package func exchangeBegan(_ exchange: ExchangeRecord) { mutex.withLock { $0.begun += 1 } }

  package func exchangeSent(_ exchange: ExchangeRecord) { mutex.withLock { $0.sent += 1 } }

  package func exchangeEnded(_ exchange: ExchangeRecord) {
    mutex.withLock { counts in
      counts.ended += 1
      if exchange.sent != nil { counts.endedSent += 1 }
    }
  }
}
