package import Byway
import Synchronization

/// An observer that records the events of exchanges.
package final class RecordingObserver: ExchangeObserver {
  package struct Heard: Sendable {
    package var begun: [ExchangeRecord] = []
    package var sent: [ExchangeRecord] = []
    package var requestBytes = 0
    package var responseBytes = 0
    package var ended: [ExchangeRecord] = []
  }

  private let mutex = Mutex(Heard())

  package let wantsID: Bool

  package init(wantsID: Bool = true) {
    self.wantsID = wantsID
  }

  package var heard: Heard { mutex.withLock { $0 } }

  package func exchangeBegan(_ exchange: ExchangeRecord) {
    mutex.withLock { $0.begun.append(exchange) }
  }

  package func exchangeSent(_ exchange: ExchangeRecord) {
    mutex.withLock { $0.sent.append(exchange) }
  }

  package func exchangeMoved(requestBytes: Int, responseBytes: Int) {
    mutex.withLock { heard in
      heard.requestBytes += requestBytes
      heard.responseBytes += responseBytes
    }
  }

  package func exchangeEnded(_ exchange: ExchangeRecord) {
    mutex.withLock { $0.ended.append(exchange) }
  }
}
