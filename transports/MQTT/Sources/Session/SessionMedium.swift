import Byway
import BywayLineLayer
import NIOCore

/// The messages of one session as the line below the line layer: a channel whose bytes are cut into messages.
///
/// A message may get lost, and its end means nothing: frames of the line layer find their own boundaries. Lives on its event loop.
final class SessionMedium: StreamCarrier {
  private let broker: BrokerConnection
  private let topic: String
  private weak var stream: StreamChannel?
  private var unsent = 0

  private init(_ broker: BrokerConnection, sendingTo topic: String) {
    self.broker = broker
    self.topic = topic
  }

  /// Returns a channel that sends its bytes to a topic.
  static func channel(over broker: BrokerConnection, sendingTo topic: String) -> StreamChannel {
    let medium = SessionMedium(broker, sendingTo: topic)
    let stream = StreamChannel(on: broker.eventLoop, carrier: medium)
    medium.stream = stream
    return stream
  }

  // MARK: StreamCarrier

  var room: Int { max(0, broker.messageLimit - unsent) }
  var backlog: Int { unsent }
  var lineStatistics: LineStatistics? { nil }

  func write(_ bytes: ByteBuffer) {
    var rest = bytes
    while let message = rest.readSlice(length: min(rest.readableBytes, broker.messageLimit)), message.readableBytes > 0
    {
      let count = message.readableBytes
      unsent += count
      broker.publish(message, to: topic).assumeIsolated().whenComplete { _ in
        // A message that was not sent is lost, and the line layer repeats it.
        self.unsent -= count
        self.stream?.drained()
      }
    }
  }

  func flush() {}
  func consumed(_ count: Int) {}
  func closeOutput() {}
  func close() { stream?.ended(nil) }
}
