/// A message from the broker.
struct BrokerMessage: Sendable {
  var topic: String
  var payload: [UInt8]
  /// Whether the broker had kept the message, so that it is older than the subscription.
  var isRetained: Bool
}
