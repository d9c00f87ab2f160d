package import BywayHTTPWire
import CBywayNGHTTP2
package import NIOCore

/// An HTTP/2 connection (RFC 9113) as a state machine: bytes and time go in, events and bytes come out.
///
/// nghttp2 does the framing, HPACK and most of the rules. This module does what it leaves to its user: the order of streams
/// (``StreamScheduler``), the size of windows (``WindowTuner``), timeouts and flood limits, and the rules for streams that have
/// already ended (``InboundRules``).
///
/// The owner calls ``receive(_:at:)`` with bytes from the link, ``nextTransmit(maximum:into:at:)`` when the link has room, and
/// ``handleTimeout(at:)`` at ``nextDeadline``. After each of them it drains ``nextEvent()``. Not thread-safe.
///
/// The stored properties opt out of run-time exclusivity checks, which cost a sixth of an exchange. This is safe: all access is
/// from one thread, and nghttp2's callbacks never run while a property is passed as `inout`.
package final class HTTP2Session {
  package enum Role: Sendable {
    case client, server
  }

  package let role: Role
  package let configuration: HTTP2Configuration
  @exclusivity(unchecked) var phase = SessionPhase.running

  let engine: OpaquePointer
  private let memory = EngineMemory()
  @exclusivity(unchecked) var now: NIODeadline
  @exclusivity(unchecked) var events = EventQueue()
  @exclusivity(unchecked) var streams = StreamTable<HTTP2Stream>()

  // Receiving.
  @exclusivity(unchecked) var preface: Preface
  @exclusivity(unchecked) var splitter: FrameSplitter
  @exclusivity(unchecked) var rules: InboundRules
  /// The bytes that nghttp2 is processing, so that body bytes can be passed on as slices of them.
  @exclusivity(unchecked) var incoming = ByteBuffer()
  @exclusivity(unchecked) var incomingBase: UnsafePointer<UInt8>?
  /// The header block that is being decoded. There is never more than one (RFC 9113 §4.3).
  @exclusivity(unchecked) var fields = FieldSection()
  @exclusivity(unchecked) var fieldsSize = 0
  /// The size of the heads and trailers of the requests of all open streams, in a server.
  @exclusivity(unchecked) var heldHeaderSize = 0

  // Transmitting.
  @exclusivity(unchecked) var scheduler = StreamScheduler()
  /// The stream whose turn it is.
  @exclusivity(unchecked) var turn: StreamID?
  /// The buffer that ``nextTransmit(maximum:into:at:)`` fills.
  @exclusivity(unchecked) var output = ByteBuffer()
  @exclusivity(unchecked) var outputLimit = 0
  /// The size of the queued 1xx heads.
  @exclusivity(unchecked) package internal(set) var informationalSize = 0
  /// The size of the final heads and of the trailers that wait to be sent, in a server.
  @exclusivity(unchecked) package internal(set) var unsentHeadSize = 0
  /// The size of the 1xx heads received since the latest call of ``receive(_:at:)``.
  @exclusivity(unchecked) var receivedInformationalSize = 0
  /// The number of writes since the latest transmission.
  @exclusivity(unchecked) var waitingWrites = 0
  /// The number of bytes transmitted before those in ``output``, minus the earlier content of that buffer.
  @exclusivity(unchecked) var outputBase: UInt64 = 0
  /// The buffer handed over last.
  @exclusivity(unchecked) var outgoing = ByteBuffer()

  // Clocks and windows.
  @exclusivity(unchecked) var timers = TimerTable()
  @exclusivity(unchecked) var pings = PingTracker()
  @exclusivity(unchecked) var activity: PeerActivity
  @exclusivity(unchecked) var tuner: WindowTuner
  let readAhead: ReadAhead

  /// Queues the connection preface and our SETTINGS.
  /// - Parameter readAhead: the budget from which windows grow; by default a new one.
  package init(
    role: Role, configuration: HTTP2Configuration = .defaults, readAhead: ReadAhead? = nil, at now: NIODeadline
  ) {
    self.role = role
    self.configuration = configuration
    self.now = now
    activity = PeerActivity(at: now)
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

  /// Returns the oldest event. Drain the events after each call that has a time parameter.
  package func nextEvent() -> HTTP2Event? {
    events.popFirst()
  }

  /// The reason why the session ended, unless both ends agreed to end it.
  package var failure: HTTP2Failure? { phase.failure }

  /// The number of streams that are open or waiting to open.
  package var openStreams: Int { streams.count }

  /// The number of streams that the peer allows at once (RFC 9113 §5.1.2). Until its first SETTINGS arrive, nghttp2 assumes
  /// 100.
  package var streamLimit: Int {
    Int(nghttp2_session_get_remote_settings(engine, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  /// Whether a request submitted now is sent without waiting for another one to end.
  package var hasRoom: Bool { streams.count < streamLimit }

  /// Whether nothing more will be received or sent, so that the link may be closed.
  package var isFinished: Bool {
    !phase.canSend || (nghttp2_session_want_read(engine) == 0 && nghttp2_session_want_write(engine) == 0)
  }

  func emit(_ event: consuming HTTP2Event) {
    if !phase.hasFailed { events.append(event) }
  }

  /// Ends the session: closes every stream, then reports the reason. The next transmit sends the GOAWAY.
  func fail(_ failure: HTTP2Failure) {
    guard !phase.hasFailed else { return }
    let canSend = nghttp2_session_terminate_session(engine, failure.code.rawValue) == 0
    for stream in streams.values where stream.audience == .owner {
      emit(.closed(stream.id, failure.code, isUnprocessed: role == .client && !stream.isHeadSent))
    }
    scheduler = StreamScheduler()
    streams = StreamTable()
    turn = nil
    timers.removeAll()
    emit(.failed(failure))
    phase = .failed(failure, canSend: canSend)
  }
}
