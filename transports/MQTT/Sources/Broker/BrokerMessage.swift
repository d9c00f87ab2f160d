/// A message from the broker.
struct BrokerMessage: Sendable {
  var topic: String
  var payload: [UInt8]
  /// Whether the broker had kept the message, so that it is older than the subscription.
  var isRetained: Bool

  /// The bytes that the message counts for while it waits for its owner. An empty one is not free.
  var cost: Int { payload.count + topic.utf8.count + 256 }
}
