/// An observer of every served exchange, whether this hop or another one responds: for metrics, an access log, or a test.
///
/// Metrics and logs are made from these calls alone. Every call comes on the event loop of the exchange's client, so it must not block;
/// calls from several loops may be concurrent.
public protocol ExchangeObserver: AnyObject, Sendable {
  /// Whether a request without an id gets one, for logs; every hop then passes it on, some 50 bytes.
  var wantsID: Bool { get }

  /// A request's head has arrived.
  func exchangeBegan(_ exchange: ExchangeRecord)

  /// The request was sent for the first time, on a link or to an origin.
  func exchangeSent(_ exchange: ExchangeRecord)

  /// Reports the bytes of both bodies that have arrived since the last call, or since the beginning.
  func exchangeMoved(requestBytes: Int, responseBytes: Int)

  /// The response has ended, completely or not. The last call for an exchange.
  func exchangeEnded(_ exchange: ExchangeRecord)
}

extension ExchangeObserver {
  /// `false`: an id is recorded only if the request has one.
  public var wantsID: Bool { false }

  /// Does nothing.
  public func exchangeBegan(_ exchange: ExchangeRecord) {}

  /// Does nothing.
  public func exchangeSent(_ exchange: ExchangeRecord) {}

  /// Does nothing.
  public func exchangeMoved(requestBytes: Int, responseBytes: Int) {}
}
