/// Is told of every exchange that is served, whoever answers it: for metrics, an access log, or a test.
///
/// What it is told is all that metrics and logs are made of. Every call comes on the event loop of the exchange's client, so that
/// it must not block, and calls of several loops may come at once.
public protocol ExchangeObserver: Sendable {
  /// A request without an id is to get one, as logs want it; every hop then carries it along, some 50 bytes.
  var wantsID: Bool { get }

  /// A request's head has come.
  func exchangeBegan(_ exchange: ExchangeRecord)

  /// Its request has left for the first time, on a link or to an origin.
  func exchangeSent(_ exchange: ExchangeRecord)

  /// As many bytes of its two bodies have come since the last call, or since it began.
  func exchangeMoved(requestBytes: Int, responseBytes: Int)

  /// The response is whole, or nothing more comes of it. The last call of an exchange.
  func exchangeEnded(_ exchange: ExchangeRecord)
}

extension ExchangeObserver {
  /// An id is noted where the request has one.
  public var wantsID: Bool { false }

  /// Nothing is done about it.
  public func exchangeBegan(_ exchange: ExchangeRecord) {}

  /// Nothing is done about it.
  public func exchangeSent(_ exchange: ExchangeRecord) {}

  /// Nothing is done about it.
  public func exchangeMoved(requestBytes: Int, responseBytes: Int) {}
}
