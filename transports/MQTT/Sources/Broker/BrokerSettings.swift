/// The settings of a connection to a broker.
struct BrokerSettings: Sendable {
  struct TLS: Sendable {
    var ca: String?
    var identity: (cert: String, key: String)?
  }

  /// A message that the broker sends when the connection is lost.
  struct Will: Sendable {
    var topic: String
    var payload: [UInt8]
  }

  /// The most bytes of one message, in either direction.
  static let messageLimit = 64 << 10
  /// The most bytes of a packet that this end accepts: a message, its topic and its properties.
  static let packetLimit = messageLimit + 1024
  /// Seconds without a packet after which an end sends a PINGREQ. The broker gives up after one and a half times that.
  static let keepAlive: Int32 = 20

  var host: String
  var port: Int
  var clientID: String
  var user: String?
  var password: String?
  var tls: TLS?
  var will: Will?

  init(host: String, port: Int, clientID: String) {
    self.host = host
    self.port = port
    self.clientID = clientID
  }
}
