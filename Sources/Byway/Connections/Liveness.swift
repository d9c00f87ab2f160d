package import BywayHTTP2Session
import NIOCore

/// How an HTTP/2 connection detects that its peer is gone: a PING (RFC 9113 §6.7) after a time of silence, and the end of the connection if
/// there is no answer. PINGs are sent while requests run. An idle link stays silent, unless this end is the only one that can open it
/// again.
///
/// Running requests then fail, or are sent again over a new link where that is safe, instead of waiting for their deadlines.
public struct Liveness: Sendable, Hashable {
  /// The time of silence before a PING.
  public var silence: Duration
  /// The same, after a PING that brought nothing but its answer. `nil`: as before.
  public var quietSilence: Duration?
  /// The same, while no request runs. `nil`: an idle link stays silent.
  public var idle: Duration?
  /// The time limit for the answer.
  public var answer: Duration

  /// Creates a rule.
  /// - Parameters:
  ///   - silence: the time of silence before a PING.
  ///   - quietSilence: the same, after a PING that brought nothing but its answer; `nil`: as before.
  ///   - idle: the same, while no request runs; `nil`: an idle link stays silent.
  ///   - answer: the time limit for the answer.
  public init(
    silence: Duration, quietSilence: Duration? = nil, idle: Duration? = nil, answer: Duration
  ) {
    self.silence = silence
    self.quietSilence = quietSilence
    self.idle = idle
    self.answer = answer
  }

  /// The rule for a peer that is a server, which always reads.
  public static let ofServer = Liveness(silence: .seconds(10), answer: .seconds(5))
  /// The rule for a peer that is a client: it may stop reading on purpose, as `curl | less` does. The time limit is usual for servers.
  public static let ofClient = Liveness(silence: .seconds(15), answer: .seconds(45))
  /// The rule for an origin: a gRPC server treats PINGs more often than every five minutes as abuse while it sends nothing.
  public static let ofOrigin = Liveness(silence: .seconds(10), quietSilence: .seconds(310), answer: .seconds(5))
  /// The rule for a device with several links: silence is detected within three seconds.
  static let ofSeveralLinks = Liveness(silence: .seconds(1), answer: .seconds(1))

  /// Returns this rule, with PINGs on an idle link if this end dials over a network. Routers forget connections that are silent for
  /// minutes, and only this end can open them again.
  package func keepingOpen(_ link: Link) -> Liveness {
    guard link.opening == .dial, link.transport.crossesNetwork else { return self }
    var liveness = self
    liveness.idle = liveness.idle ?? Self.shortestMemory
    return liveness
  }

  /// Routers of homes, mobile networks and data centres forget after two to six minutes; two PINGs may get lost.
  private static let shortestMemory = Duration.seconds(60)

  fileprivate func atMost(_ other: Liveness) -> Liveness {
    Liveness(silence: min(silence, other.silence), answer: min(answer, other.answer))
  }
}

extension HTTP2Configuration {
  /// - Parameters:
  ///   - liveness: `nil` if the link itself detects losses.
  ///   - hasOtherLinks: whether there are other links, so that a false alarm costs less than a late one.
  package init(liveness: Liveness?, hasOtherLinks: Bool = false) {
    self.init()
    var liveness = liveness
    if hasOtherLinks {
      liveness = liveness.map { $0.atMost(.ofSeveralLinks) }
      timeouts.pingDelay = .milliseconds(500)
    }
    timeouts.pingInterval = (liveness?.silence).map { TimeAmount($0) }
    timeouts.quietPingInterval = (liveness?.quietSilence).map { TimeAmount($0) }
    timeouts.idlePingInterval = (liveness?.idle).map { TimeAmount($0) }
    if let liveness { timeouts.pingAnswer = TimeAmount(liveness.answer) }
  }
}
