package import BywayHTTPWire
package import NIOCore

/// A detailed observer of one exchange while it runs: gets the fields on both sides of this hop, and all bytes of the bodies.
///
/// Every call comes on the exchange's event loop, so it must not block. A record is the state at the time of the call.
package protocol SingleExchangeObserver: AnyObject {
  /// The request is sent with these fields, possibly again.
  func sent(_ fields: FieldSection, _ record: ExchangeRecord)
  /// New times on the wire are known.
  func passed(_ record: ExchangeRecord)
  func requestBody(_ bytes: ByteBuffer)
  func requestEnded(_ record: ExchangeRecord)
  /// The remote end's response has these fields.
  func answered(_ fields: FieldSection, _ record: ExchangeRecord)
  /// The client gets these fields.
  func responseBegan(_ fields: FieldSection, _ record: ExchangeRecord)
  func responseBody(_ bytes: ByteBuffer)
  func trailers(_ fields: FieldSection)
  /// The first failure is the cause of those that follow.
  func failed(_ error: BywayError, _ record: ExchangeRecord)
  /// The last call.
  func ended(_ record: ExchangeRecord)
}

/// An observer that makes observers of single exchanges, which get more details. It is notified of nothing else.
package protocol ExchangeObserverFactory: ExchangeObserver {
  /// - Returns: the detailed observer of the exchange; `nil`: none.
  func observer(of exchange: ExchangeRecord) -> (any SingleExchangeObserver)?
}
