import HTTPWire
package import NIOCore

/// The limits and clocks of a session.
package struct HTTP2Configuration: Sendable, Equatable {
  package var streams = Streams()
  package var windows = Windows()
  package var timeouts = Timeouts()
  package var floods = Floods()
  /// Whether ``HTTP2Event/departed(_:_:)`` is told.
  package var tellsDepartures = false

  package static let defaults = HTTP2Configuration()

  package init() {}

  package struct Streams: Sendable, Equatable {
    /// How many the peer may have open (RFC 9113 §5.1.2).
    package var maximumConcurrent = 256
    /// In bytes, as RFC 9113 §6.5.2 counts them. A server answers a larger head with 431, a client resets the stream.
    package var maximumHeaderListSize = 64 * 1024
    /// The total size of the request heads of open streams, as RFC 9113 §6.5.2 counts them. A server refuses a stream beyond it.
    package var heldHeaderSize = 4 << 20
    /// The number of 1xx responses before a final one. A client resets the stream at the next one.
    package var informationalResponses = MessageLimits.informationalResponses
    /// The largest frame payload that is accepted.
    package var maximumFrameSize = 16 * 1024
    /// The compression table that the peer may use.
    package var headerTableSize = 4096
    /// A server's word that it understands RFC 8441.
    package var allowsExtendedConnect = true
  }

  /// In bytes. The connection's window is always `maximum`: it is credited on receipt.
  package struct Windows: Sendable, Equatable {
    /// What every stream has, however many there are.
    package var initial = 256 * 1024
    /// What a stream is given at its beginning where few others are open, and else when its reader keeps up.
    package var usual = 256 * 1024
    /// Whether that is at its beginning, which costs a frame for each.
    package var isEager = true
    /// How far one stream may grow.
    package var maximum = 4 * 1024 * 1024
    /// How much all streams together may have beyond `initial`, where their owner does not bring a ``ReadAhead``.
    package var growth = 4 * 1024 * 1024
  }

  package struct Timeouts: Sendable, Equatable {
    /// Until the peer has acknowledged our SETTINGS; covers the preface.
    package var settings = TimeAmount.seconds(30)
    /// From the first byte of a header block to its last.
    package var headerBlock = TimeAmount.seconds(30)
    /// Without a stream: the session then says GOAWAY. `nil`: never.
    package var idle: TimeAmount?
    /// Of silence while a stream is open, after which a PING asks whether the peer is still there. `nil`: never.
    package var pingInterval: TimeAmount?
    /// The same, where the peer has sent neither head nor body since the last such PING. `nil`: as before.
    package var quietPingInterval: TimeAmount?
    /// The same while no stream is open. `nil`: an idle link stays silent.
    package var idlePingInterval: TimeAmount?
    /// Until the answer to that PING, or any other byte, must have arrived. What was sent shortly before and may hold
    /// the PING up on a slow link is given its time on top.
    package var pingAnswer = TimeAmount.seconds(5)
    /// How much that may be at most.
    package var pingDelay = TimeAmount.seconds(60)
  }

  package struct Floods: Sendable, Equatable {
    /// Streams that a client opens and resets, or makes us reset.
    package var resets = RateLimit(burst: 500, perSecond: 100)
    /// SETTINGS, PING, PRIORITY, empty DATA, unknown frames: what costs a peer nothing.
    package var controlFrames = RateLimit(burst: 2000, perSecond: 500)
    /// WINDOW_UPDATE frames beyond two for each DATA frame that the windows did not cut small.
    package var windowUpdates = RateLimit(burst: 2000, perSecond: 500)
    /// DATA frames of so few bytes that their framing is most of them. Interactive streams have some.
    package var tinyData = RateLimit(burst: 20_000, perSecond: 10_000)
  }
}

/// A token bucket: so many at once, so many a second from then on.
package struct RateLimit: Sendable, Equatable {
  package var burst: Int
  package var perSecond: Int

  package init(burst: Int, perSecond: Int) {
    self.burst = burst
    self.perSecond = perSecond
  }
}
