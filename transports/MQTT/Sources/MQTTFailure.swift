import Byway
import BywayLibC
import BywayLineLayer
import NIOCore

/// The messages for failures, in the user's terms.
enum MQTTFailure {
  /// The connection to the broker failed.
  static func connecting(to target: MQTTTarget, _ error: any Error) -> BywayError {
    switch error {
    case let error as BywayError: error
    case let end as BrokerEnd: unavailable(fault(of: end), sentence(end, target), end)
    default: ConnectFailure.error(error, connectingTo: target.place, of: "the MQTT broker")
    }
  }

  /// Whether an attempt to reach a broker may succeed later without another configuration: the broker or the network may not be up yet.
  static func mayPass(_ error: BywayError) -> Bool {
    switch error.diagnosis?.fault {
    case .nobodyListens?, .noAnswer?, .noRoute?, .unknownName?, .noNameService?: true
    default: false
    }
  }

  /// The broker does not let this end use a topic.
  static func topic(_ topic: String, for use: TopicUse, of target: MQTTTarget, _ error: any Error) -> BywayError {
    guard case .denied(_, let words)? = error as? BrokerEnd else { return connecting(to: target, error) }
    return unavailable(
      .loginRefused,
      "The broker \(target.place) does not let this end \(use.words) \(topic) (\(words)): permit it in the broker's access list.",
      error)
  }

  enum TopicUse {
    case reading, writing

    var words: String { self == .reading ? "read" : "write" }
  }

  static func noGateway(_ target: MQTTTarget, expecting peer: LinkPeer) -> BywayError {
    unavailable(
      .noGateway,
      "No gateway announces itself at the topic \(target.topics.base) of \(target.place): start \(peer.name) there, check the topic, "
        + "and that the broker lets this end read \(target.topics.gateway).", nil)
  }

  static func foreignAnnouncement(_ target: MQTTTarget) -> BywayError {
    unavailable(
      .noGateway,
      "The message at \(target.topics.gateway) of \(target.place) is from another program: choose another topic, or start the gateway, "
        + "which replaces it.", nil)
  }

  static func noAnswer(_ target: MQTTTarget) -> BywayError {
    unavailable(
      .noAnswer,
      "A gateway announces itself at \(target.topics.base) of \(target.place), but does not answer: check that the broker lets it read "
        + "\(target.topics.anyUp) and write \(target.topics.base)/s/+/down, and that it has room for another session.",
      nil)
  }

  static func occupied(_ target: MQTTTarget) -> BywayError {
    unavailable(
      .inUse,
      "Another gateway is at the topic \(target.topics.base) of \(target.place): stop it, or choose another topic.", nil
    )
  }

  /// The gateway has left the broker while a session was open.
  static func gatewayLeft(_ address: LinkAddress) -> BywayError {
    BywayError(.linkLost, "The gateway of \(address) has left the broker, and has not come back: check that it runs.")
  }

  static func gatewayRestarted(_ address: LinkAddress) -> BywayError {
    BywayError(.linkLost, "The gateway of \(address) was restarted: what it had begun is lost.")
  }

  /// A session has ended.
  static func ended(_ end: SessionEnd, on address: LinkAddress) -> BywayError {
    let message =
      switch end {
      case .finished, .abortedHere: "\(address) was closed at this end."
      case .peerRestarted: "The other end of \(address) was restarted: what it had begun is lost."
      case .aborted: "The other end of \(address) has closed the link."
      case .silence:
        "The other end of \(address) has said nothing for too long: check that it runs and reaches the broker."
      case .lineLost: "The broker of \(address) was out of reach for too long: check that it runs."
      case .version, .echo, .bothDial, .violation:
        "The other end of \(address) broke the line protocol: use the same version of byway at both ends."
      }
    return BywayError(.linkLost, message)
  }

  private static func unavailable(_ fault: LinkFault, _ sentence: String, _ cause: (any Error)?) -> BywayError {
    BywayError(.linkUnavailable, Diagnosis(fault, sentence), cause: cause)
  }

  private static func fault(of end: BrokerEnd) -> LinkFault {
    switch end {
    case .refused, .denied: .loginRefused
    case .tls: .handshakeFailed
    case .silent: .noAnswer
    case .closed, .dismissed, .lost: .notConnected
    }
  }

  private static func sentence(_ end: BrokerEnd, _ target: MQTTTarget) -> String {
    let place = "The broker \(target.place)"
    switch end {
    case .refused(0x86, _), .refused(0x87, _), .refused(4, _), .refused(5, _):
      return
        "\(place) refuses the login: check the user in \(target.address.scheme)://USER@\(target.host)/… and password=."
    case .refused(0x84, _), .refused(1, _):
      return "\(place) does not speak MQTT 5: use a broker that does, such as mosquitto 1.6 or later."
    case .refused(_, let words), .denied(_, let words):
      return "\(place) refuses the connection (\(words)): ask its administrator."
    case .dismissed(_, let words): return "\(place) has ended the connection (\(words)): look into its log."
    case .tls(let words):
      return
        "TLS with the broker \(target.place) failed (\(words)): check ca=, the name in its certificate, and that the port is "
        + "one for TLS."
    case .silent: return "\(place) did not answer in time: check that an MQTT broker listens there."
    case .lost(let words):
      return
        "\(place) ended the connection (\(words)): check that the port is one for MQTT\(target.isSecure ? "" : " without TLS")."
    case .closed: return "The connection to the broker \(target.place) was closed at this end."
    }
  }
}
