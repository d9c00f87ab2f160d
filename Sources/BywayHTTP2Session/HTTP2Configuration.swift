import BywayHTTPWire
package import NIOCore

/// The limits and timeouts of a session.
package struct HTTP2Configuration: Sendable, Equatable {
  package var streams = Streams()
  package var windows = Windows()
  package var timeouts = Timeouts()
  package var floods = Floods()
  /// Whether ``HTTP2Event/departed(_:_:)`` is emitted.
  package var tellsDepartures = false

  package static let defaults = HTTP2Configuration()

  package init() {}

  package struct Streams: Sendable, Equatable {
    /// The number of streams that the peer may have open (RFC 9113 §5.1.2).
    package var maximumConcurrent = 256
    /// The maximum size in bytes, counted as in RFC 9113 §6.5.2. A server answers a larger head with 431; a client resets the
    /// stream.
    package var maximumHeaderListSize = 64 * 1024
    /// The total size of the request heads of open streams, counted as in RFC 9113 §6.5.2. A server refuses further streams.
    package var heldHeaderSize = 4 << 20
    /// The number of 1xx responses before a final one. A client resets the stream at the next one.
    package var informationalResponses = MessageLimits.informationalResponses
    /// The largest accepted frame payload.
    package var maximumFrameSize = 16 * 1024
    /// The size of the compression table that the peer may use.
    package var headerTableSize = 4096
    /// Whether a server announces support for RFC 8441.
    package var allowsExtendedConnect = true
  }

  /// The window sizes in bytes. The connection's window is always `maximum`, because it is credited on receipt.
  package struct Windows: Sendable, Equatable {
    /// The window of every stream, however many there are.
    package var initial = 256 * 1024
    /// The window of a stream at its start if few others are open, and otherwise once its reader keeps up.
    package var usual = 256 * 1024
    /// Whether the stream gets it at its start, which costs a frame for each stream.
    package var isEager = true
    /// The limit for one stream.
    package var maximum = 4 * 1024 * 1024
    /// The limit for all streams together beyond `initial`, if their owner provides no ``ReadAhead``.
    package var growth = 4 * 1024 * 1024
  }

  package struct Timeouts: Sendable, Equatable {
    /// The time until the peer must have acknowledged our SETTINGS; includes the preface.
    package var settings = TimeAmount.seconds(30)
    /// The time from the first byte of a header block to its last.
    package var headerBlock = TimeAmount.seconds(30)
    /// The time without a stream, after which the session sends GOAWAY. `nil`: never.
    package var idle: TimeAmount?
    /// The silence, while a stream is open, after which a PING checks whether the peer is alive. `nil`: never.
    package var pingInterval: TimeAmount?
    /// The same, if the peer has sent neither head nor body since the last such PING. `nil`: as `pingInterval`.
    package var quietPingInterval: TimeAmount?
    /// The same while no stream is open. `nil`: an idle link stays silent.
    package var idlePingInterval: TimeAmount?
    /// The time until the answer to that PING, or any other byte, must have arrived. The time for recently sent bytes, which
    /// may delay the PING on a slow link, is added.
    package var pingAnswer = TimeAmount.seconds(5)
    /// The maximum of that addition.
    package var pingDelay = TimeAmount.seconds(60)
  }

  package struct Floods: Sendable, Equatable {
    /// Streams that a client opens and then resets, or makes us reset.
    package var resets = RateLimit(burst: 500, perSecond: 100)
    /// SETTINGS, PING, PRIORITY, empty DATA and unknown frames: frames that cost a peer nothing.
    package var controlFrames = RateLimit(burst: 2000, perSecond: 500)
    /// WINDOW_UPDATE frames beyond two for each DATA frame, unless the windows made that frame small.
    package var windowUpdates = RateLimit(burst: 2000, perSecond: 500)
    /// DATA frames that are mostly framing. Interactive streams have some.
    package var tinyData = RateLimit(burst: 20_000, perSecond: 10_000)
  }
}

/// A token bucket: the size of a burst, and the rate per second after it.
package struct RateLimit: Sendable, Equatable {
  package var burst: Int
  package var perSecond: Int

  package init(burst: Int, perSecond: Int) {
    self.burst = burst
    self.perSecond = perSecond
  }
}
