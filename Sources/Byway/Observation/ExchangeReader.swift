/// An observer that reads the state of a running exchange in place, at a fraction of the cost of a record. It must not keep the state.
package protocol ExchangeReader: AnyObject, Sendable {
  /// Whether it needs ``ended(_:)`` only.
  var readsOnlyEnds: Bool { get }

  /// The same as ``ExchangeObserver/exchangeBegan(_:)``.
  func began(_ exchange: ExchangeRecord.State)

  /// The same as ``ExchangeObserver/exchangeSent(_:)``.
  func sent(_ exchange: ExchangeRecord.State)

  /// The same as that of ``ExchangeObserver``.
  func exchangeMoved(requestBytes: Int, responseBytes: Int)

  /// The same as ``ExchangeObserver/exchangeEnded(_:)``.
  func ended(_ exchange: ExchangeRecord.State)
}

/// Two readers, so that those of a listener are one constant: a call to a constant needs no reference counting.
private final class ReaderPair: ExchangeReader {
  private let first: any ExchangeReader
  private let second: any ExchangeReader

  init(_ first: any ExchangeReader, _ second: any ExchangeReader) {
    self.first = first
    self.second = second
  }

  var readsOnlyEnds: Bool { first.readsOnlyEnds && second.readsOnlyEnds }

  func began(_ exchange: ExchangeRecord.State) {
    first.began(exchange)
    second.began(exchange)
  }

  func sent(_ exchange: ExchangeRecord.State) {
    first.sent(exchange)
    second.sent(exchange)
  }

  func exchangeMoved(requestBytes: Int, responseBytes: Int) {
    first.exchangeMoved(requestBytes: requestBytes, responseBytes: responseBytes)
    second.exchangeMoved(requestBytes: requestBytes, responseBytes: responseBytes)
  }

  func ended(_ exchange: ExchangeRecord.State) {
    first.ended(exchange)
    second.ended(exchange)
  }
}

/// A reader for an observer that gets records, and may keep them.
private final class RecordReader: ExchangeReader {
  private let observer: any ExchangeObserver

  init(_ observer: any ExchangeObserver) {
    self.observer = observer
  }

  var readsOnlyEnds: Bool { false }

  func began(_ exchange: ExchangeRecord.State) { observer.exchangeBegan(ExchangeRecord(exchange.values)) }

  func sent(_ exchange: ExchangeRecord.State) { observer.exchangeSent(ExchangeRecord(exchange.values)) }

  func exchangeMoved(requestBytes: Int, responseBytes: Int) {
    observer.exchangeMoved(requestBytes: requestBytes, responseBytes: responseBytes)
  }

  func ended(_ exchange: ExchangeRecord.State) { observer.exchangeEnded(ExchangeRecord(exchange.values)) }
}

extension Sequence<any ExchangeObserver> {
  /// The readers of these observers, without those that only follow single exchanges.
  var readers: [any ExchangeReader] {
    filter { !($0 is any ExchangeObserverFactory) }.map { ($0 as? any ExchangeReader) ?? RecordReader($0) }
  }
}

extension Sequence<any ExchangeReader> {
  /// A reader for all of them; `nil` if there are none.
  var joined: (any ExchangeReader)? {
    reduce(nil) { all, next in all.map { ReaderPair($0, next) } ?? next }
  }
}
