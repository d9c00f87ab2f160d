package import HTTP2Session
public import NIOCore

/// How a connection over HTTP/2 learns that nobody is there any more: a PING (RFC 9113 §6.7) after a time of silence, and
/// the end of the connection where it is not answered. While requests run; an idle link stays silent, unless the end that asks is the
/// only one that can open it again.
///
/// What runs then fails, or is sent again over a new link where that is safe, instead of waiting for its deadline.
public struct Liveness: Sendable, Hashable {
  /// Until a PING asks.
  public var silence: TimeAmount
  /// The same, from the second PING on that brings nothing but its answer. `nil`: as before.
  public var quietSilence: TimeAmount?
  /// The same, while nothing runs. `nil`: an idle link stays silent.
  public var idle: TimeAmount?
  /// Until the answer must have come.
  public var answer: TimeAmount

  /// A rule of one's own.
  /// - Parameters:
  ///   - silence: until a PING asks.
  ///   - quietSilence: the same, from the second PING on that brings nothing but its answer; `nil`: as before.
  ///   - idle: the same, while nothing runs; `nil`: an idle link stays silent.
  ///   - answer: until the answer must have come.
  public init(
    silence: TimeAmount, quietSilence: TimeAmount? = nil, idle: TimeAmount? = nil, answer: TimeAmount
  ) {
    self.silence = silence
    self.quietSilence = quietSilence
    self.idle = idle
    self.answer = answer
  }

  /// A server always reads.
  public static let ofServer = Liveness(silence: .seconds(10), answer: .seconds(5))
  /// A client may stop reading on purpose, as `curl | less` does; its patience is what other servers have, too.
  public static let ofClient = Liveness(silence: .seconds(15), answer: .seconds(45))
  /// A gRPC server counts as abuse what asks more often than every five minutes while it sends nothing.
  public static let ofOrigin = Liveness(silence: .seconds(10), quietSilence: .seconds(310), answer: .seconds(5))
  /// Where another road exists, silence is over within three seconds.
  static let ofRoads = Liveness(silence: .seconds(1), answer: .seconds(1))

  /// Of an end that dials, over a network: routers forget what has been silent for minutes, and nobody but this end can mend that.
  package func keepingOpen(_ link: Link) -> Liveness {
    guard link.opening == .dial, link.transport.crossesNetwork else { return self }
    var liveness = self
    liveness.idle = liveness.idle ?? Self.shortestMemory
    return liveness
  }

  /// Routers of homes, of mobile networks and of data centres forget after two to six minutes; two PINGs may get lost.
  private static let shortestMemory = TimeAmount.seconds(60)

  fileprivate func atMost(_ other: Liveness) -> Liveness {
    Liveness(silence: min(silence, other.silence), answer: min(answer, other.answer))
  }
}

extension HTTP2Configuration {
  /// - Parameters:
  ///   - liveness: `nil` where the link itself knows.
  ///   - hasOtherRoads: a wrong verdict costs less than a late one.
  package init(liveness: Liveness?, hasOtherRoads: Bool = false) {
    self.init()
    var liveness = liveness
    if hasOtherRoads {
      liveness = liveness.map { $0.atMost(.ofRoads) }
      timeouts.pingDelay = .milliseconds(500)
    }
    timeouts.pingInterval = liveness?.silence
    timeouts.quietPingInterval = liveness?.quietSilence
    timeouts.idlePingInterval = liveness?.idle
    if let liveness { timeouts.pingAnswer = liveness.answer }
  }
}
