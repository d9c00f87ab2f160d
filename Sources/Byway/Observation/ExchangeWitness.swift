package import HTTPWire
package import NIOCore

/// Looks closely at one exchange while it runs: fields at both sides of this hop, and every byte of the bodies.
///
/// Every call comes on the exchange's event loop, so that it must not block. A record is what is known by then.
package protocol ExchangeWitness: AnyObject {
  /// The request leaves with these fields, perhaps once more.
  func sent(_ fields: FieldSection, _ record: ExchangeRecord)
  /// More is known of when it was on the wire.
  func passed(_ record: ExchangeRecord)
  func requestBody(_ bytes: ByteBuffer)
  func requestEnded(_ record: ExchangeRecord)
  /// The far end's response has these fields.
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

/// An observer that looks closely.
package protocol ExchangeWatching: ExchangeObserver {
  /// - Returns: who looks on while it runs; `nil`: nobody.
  func witness(of exchange: ExchangeRecord) -> (any ExchangeWitness)?
}
