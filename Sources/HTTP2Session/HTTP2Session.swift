import CNGHTTP2
package import HTTPWire
package import NIOCore

/// One HTTP/2 connection (RFC 9113) as a state machine: bytes and time go in, events and bytes come out.
///
/// nghttp2 does the framing, HPACK and most of the rules. Ours are what it leaves to its user: whose turn it is
/// (``StreamScheduler``), how far the peer may send ahead (``WindowTuner``), clocks and floods, and the rules about
/// streams that are already gone (``InboundRules``).
///
/// The owner calls ``receive(_:at:)`` with what the link brought, ``nextTransmit(maximum:into:at:)`` when the link has
/// room, ``handleTimeout(at:)`` at ``nextDeadline``, and after each of them drains ``nextEvent()``. Not thread-safe.
///
/// The stored properties opt out of run-time exclusivity checks, a sixth of the cost of an exchange: all access is from
/// one thread, and nghttp2's callbacks never run while one of them is lent out as `inout`.
package final class HTTP2Session {
  package enum Role: Sendable {
    case client, server
  }

  package let role: Role
  package let configuration: HTTP2Configuration
  /// Why the session ended, where that was not by agreement.
  @exclusivity(unchecked) package internal(set) var failure: HTTP2Failure?

  let engine: OpaquePointer
  private let memory = EngineMemory()
  @exclusivity(unchecked) var now: NIODeadline
  @exclusivity(unchecked) var events = EventQueue()
  @exclusivity(unchecked) var streams = StreamTable<HTTP2Stream>()

  // Receiving.
  @exclusivity(unchecked) var preface: Preface
  @exclusivity(unchecked) var splitter: FrameSplitter
  @exclusivity(unchecked) var rules: InboundRules
  /// The bytes that nghttp2 is looking at, so that body bytes can be handed on as slices of them.
  @exclusivity(unchecked) var incoming = ByteBuffer()
  @exclusivity(unchecked) var incomingBase: UnsafePointer<UInt8>?
  /// The header block that is being decoded: there is never more than one (RFC 9113 §4.3).
  @exclusivity(unchecked) var fields = FieldSection()
  @exclusivity(unchecked) var fieldsSize = 0
  /// The size of the request heads of all open streams, at a server.
  @exclusivity(unchecked) var heldHeaderSize = 0

  // Transmitting.
  @exclusivity(unchecked) var scheduler = StreamScheduler()
  /// The stream whose turn it is.
  @exclusivity(unchecked) var turn: StreamID?
  /// What ``nextTransmit(maximum:into:at:)`` fills.
  @exclusivity(unchecked) var output = ByteBuffer()
  @exclusivity(unchecked) var outputLimit = 0
  /// The size of the 1xx heads that wait to be sent.
  @exclusivity(unchecked) package internal(set) var informationalSize = 0
  /// Bytes that were transmitted before those in ``output``, less what was in that buffer already.
  @exclusivity(unchecked) var outputBase: UInt64 = 0
  /// What was handed over last.
  @exclusivity(unchecked) var outgoing = ByteBuffer()
  /// With what the owner asked to go away.
  @exclusivity(unchecked) var goAwayCode: HTTP2ErrorCode?
  /// That GOAWAY waits to be sent.
  @exclusivity(unchecked) var isGoAwayQueued = false
  /// Nothing works any more: not even the GOAWAY can be sent.
  @exclusivity(unchecked) var isBroken = false

  // Clocks and windows.
  @exclusivity(unchecked) var timers = TimerTable()
  @exclusivity(unchecked) var pings = PingTracker()
  @exclusivity(unchecked) var lastReceived: NIODeadline
  /// The peer has answered something of ours: bytes come through in both directions.
  @exclusivity(unchecked) var isAnswered = false
  /// Bytes for the link since something came from there.
  @exclusivity(unchecked) var sentIntoSilence = 0
  /// A PING has asked whether the peer is there, and neither head nor body has come since.
  @exclusivity(unchecked) var isQuiet = false
  @exclusivity(unchecked) var tuner: WindowTuner
  let readAhead: ReadAhead

  /// Queues the connection preface and our SETTINGS.
  /// - Parameter readAhead: what windows grow from; one of its own where there is none.
  package init(
    role: Role, configuration: HTTP2Configuration = .defaults, readAhead: ReadAhead? = nil, at now: NIODeadline
  ) {
    self.role = role
    self.configuration = configuration
    self.now = now
    lastReceived = now
    preface = Preface(role: role)
    splitter = FrameSplitter(skipping: role == .server ? Int(NGHTTP2_CLIENT_MAGIC_LEN) : 0)
    rules = InboundRules(role: role, floods: configuration.floods, at: now)
    tuner = WindowTuner(initial: configuration.windows.usual, maximum: configuration.windows.maximum)
    self.readAhead = readAhead ?? ReadAhead(limit: configuration.windows.growth)
    engine = Engine.make(role: role, configuration: configuration, memory: memory)
    nghttp2_session_set_user_data(engine, Unmanaged.passUnretained(self).toOpaque())
    submitSettings()
    timers[.settings] = now + configuration.timeouts.settings
    watchIdleness()
    watchLiveness()
  }

  deinit {
    nghttp2_session_del(engine)
  }

  /// What happened, oldest first. Drain it after each call that takes the time.
  package func nextEvent() -> HTTP2Event? {
    events.popFirst()
  }

  /// Streams that are open, or wait to be.
  package var openStreams: Int { streams.count }

  /// The streams that the peer allows at once (RFC 9113 §5.1.2). Until its first SETTINGS have come, nghttp2 takes 100 for it.
  package var streamLimit: Int {
    Int(nghttp2_session_get_remote_settings(engine, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  /// Whether a request that is submitted now leaves without waiting for another one's end.
  package var hasRoom: Bool { streams.count < streamLimit }

  /// Nothing more will be received or sent: the link may be closed.
  package var isFinished: Bool {
    isBroken || (nghttp2_session_want_read(engine) == 0 && nghttp2_session_want_write(engine) == 0)
  }

  func emit(_ event: consuming HTTP2Event) {
    if failure == nil { events.append(event) }
  }

  /// Ends the session: every stream first, then the reason; the GOAWAY goes out with the next transmit.
  func fail(_ failure: HTTP2Failure) {
    guard self.failure == nil else { return }
    if nghttp2_session_terminate_session(engine, failure.code.rawValue) != 0 {
      isBroken = true
    }
    for stream in streams.values where stream.audience == .owner {
      emit(.closed(stream.id, failure.code, isUnprocessed: role == .client && !stream.isHeadSent))
    }
    scheduler = StreamScheduler()
    streams = StreamTable()
    turn = nil
    timers.removeAll()
    emit(.failed(failure))
    self.failure = failure
  }
}
