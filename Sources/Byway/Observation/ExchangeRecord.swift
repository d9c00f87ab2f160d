package import BywayHTTPWire
public import NIOCore

/// The current state of an exchange, at the hop that serves it.
public struct ExchangeRecord: Sendable {
  /// The role of this hop in the exchange.
  public enum Role: Sendable, Hashable {
    /// It serves the exchange to a client.
    case server
    /// It sends the exchange for its own program: ``BywayClient``.
    case client
  }

  /// The HTTP version of the client's request.
  public enum Version: String, Sendable, Hashable {
    /// HTTP/1.0.
    case http1_0 = "1.0"
    /// HTTP/1.1.
    case http1_1 = "1.1"
    /// HTTP/2.
    case http2 = "2"
  }

  /// The party that caused a failure.
  public enum Party: String, Sendable, Hashable {
    /// The client disconnected, or its request was not acceptable.
    case client
    /// The link was down, or was lost.
    case link
    /// The origin did not respond, or responded incorrectly.
    case origin
    /// This hop itself.
    case here
  }

  /// Why there was no response, or no complete one.
  public struct Failure: Sendable, Hashable {
    /// The kind of failure.
    public let code: BywayError.Code
    /// The party that caused it.
    public let party: Party
  }

  /// The times of an exchange on the wire of a serial line. They are computed from the acknowledgements of both ends, and the line's rate
  /// and round trip. All are `nil` on other links.
  public struct Wire: Sendable, Hashable {
    /// The request's first byte began to leave, after those of other exchanges.
    public internal(set) var left: NIODeadline?
    /// The whole request had arrived at the remote end.
    public internal(set) var arrived: NIODeadline?
    /// The remote end began to send the response.
    public internal(set) var replied: NIODeadline?
  }

  /// A remark of a plugin about an exchange.
  public struct Note: Sendable, Hashable {
    /// The name of the plugin.
    public let plugin: String
    /// The remark, at most 256 bytes of visible text.
    public let text: String

    package init(plugin: String, text: String) {
      self.plugin = plugin
      self.text = text
    }
  }

  /// A device that was requested by its name.
  package struct Device: Sendable, Hashable {
    package let name: String
    /// Whether the configuration has the name; otherwise it comes from outside.
    package let isConfigured: Bool

    package init(_ name: String, isConfigured: Bool) {
      self.name = name
      self.isConfigured = isConfigured
    }
  }

  /// The place where an exchange has arrived. A class, because all exchanges of a connection share it.
  package final class Arrival: Sendable {
    package let role: Role
    package let listener: String
    package let peer: ExchangePeer?

    init(_ role: Role, listener: String, peer: ExchangePeer?) {
      self.role = role
      self.listener = listener
      self.peer = peer
    }
  }

  /// The values of a record.
  package struct Values {
    package let arrival: Arrival
    package let version: Version
    package let head: FieldSection
    package let labels: RequestLabels
    package let trace: TraceID?
    package var user: String?
    package let begun: NIODeadline
    package var sent: NIODeadline?
    package var requestEnded: NIODeadline?
    package var answered: NIODeadline?
    package var ended: NIODeadline?
    package var wire = Wire()
    package var attempts = 0
    package var device: Device?
    package var upstream: String?
    package var isClientsChoice = false
    package var status: Int?
    package var failure: Failure?
    package var requestBytes = 0
    package var responseBytes = 0
    package var carriedBytes = 0
    package var notes: [Note] = []

    init(_ arrival: Arrival, _ version: Version, _ head: FieldSection, trace: TraceID?, begun: NIODeadline) {
      self.arrival = arrival
      self.version = version
      self.head = head
      labels = RequestLabels(head)
      self.trace = trace
      self.begun = begun
    }
  }

  /// The values in one object: of a record, or of a running exchange (``ObservedExchange``).
  ///
  /// `@unchecked Sendable`: the values of a record are not written to while they are shared, and those of a running exchange are
  /// used on its event loop only.
  package class State: @unchecked Sendable {
    package internal(set) final var values: Values

    init(_ values: consuming Values) {
      self.values = values
    }
  }

  /// A record is one reference. A copy shares its values until one of them changes.
  package private(set) var state: State

  private var own: State {
    mutating get {
      if !isKnownUniquelyReferenced(&state) { state = State(state.values) }
      return state
    }
  }

  /// The role of this hop.
  public var role: Role { state.values.arrival.role }
  /// The address on which the client connected; empty if this program itself is the client.
  public var listener: String { state.values.arrival.listener }
  /// The other end of the connection on which it arrived; `nil` if that has no address, or if this program itself is the client.
  public var peer: ExchangePeer? { state.values.arrival.peer }
  /// The HTTP version of its request.
  public var version: Version { state.values.version }
  /// The request's head, as it is forwarded; empty if the input was not a request.
  package var head: FieldSection { state.values.head }
  /// Computed once from the head, because counters ask for it often.
  package var labels: RequestLabels { state.values.labels }
  /// The id of the exchange in the logs of its hops; `nil` if the input was not a request, or if it has no id and no observer wants one.
  public var trace: TraceID? { state.values.trace }
  /// The user that sent it; `nil` if users are not identified, or it is not known.
  public internal(set) var user: String? {
    get { state.values.user }
    set { own.values.user = newValue }
  }
  /// When the request's head had arrived. The later times are `nil` until their phase is reached.
  public var begun: NIODeadline { state.values.begun }
  /// When the request was sent on a connection, after waiting for one; the latest time if it was sent again.
  public internal(set) var sent: NIODeadline? {
    get { state.values.sent }
    set { own.values.sent = newValue }
  }
  /// When the request was complete.
  public internal(set) var requestEnded: NIODeadline? {
    get { state.values.requestEnded }
    set { own.values.requestEnded = newValue }
  }
  /// When the response's head arrived.
  public internal(set) var answered: NIODeadline? {
    get { state.values.answered }
    set { own.values.answered = newValue }
  }
  /// When the response was complete, or failed. Its last bytes may not have reached the client yet.
  public internal(set) var ended: NIODeadline? {
    get { state.values.ended }
    set { own.values.ended = newValue }
  }
  /// The times on the wire of a serial line, as far as they are known.
  public internal(set) var wire: Wire {
    get { state.values.wire }
    set { own.values.wire = newValue }
  }
  /// How often the request was sent.
  public internal(set) var attempts: Int {
    get { state.values.attempts }
    set { own.values.attempts = newValue }
  }
  /// The device that it is for; `nil` if it names none, or none that exists.
  package internal(set) var device: Device? {
    get { state.values.device }
    set { own.values.device = newValue }
  }
  /// The target that it was sent to: an origin, or a link. `nil` if it was not sent.
  public internal(set) var upstream: String? {
    get { state.values.upstream }
    set { own.values.upstream = newValue }
  }
  /// Whether ``upstream`` was chosen by the client, and not by the configuration.
  public internal(set) var isClientsChoice: Bool {
    get { state.values.isClientsChoice }
    set { own.values.isClientsChoice = newValue }
  }
  /// The status of the response that the client got, from any hop; `nil` if it got none.
  public internal(set) var status: Int? {
    get { state.values.status }
    set { own.values.status = newValue }
  }
  /// `nil` without a failure.
  public internal(set) var failure: Failure? {
    get { state.values.failure }
    set { own.values.failure = newValue }
  }
  /// Bytes of the request's body that have arrived.
  public internal(set) var requestBytes: Int {
    get { state.values.requestBytes }
    set { own.values.requestBytes = newValue }
  }
  /// Bytes of the response's body that were passed to the client's connection.
  public internal(set) var responseBytes: Int {
    get { state.values.responseBytes }
    set { own.values.responseBytes = newValue }
  }
  /// Bytes of the response's body as received from the remote end: fewer if they were compressed, none from a cache.
  public internal(set) var carriedBytes: Int {
    get { state.values.carriedBytes }
    set { own.values.carriedBytes = newValue }
  }

  /// The remarks of plugins, in their order.
  public internal(set) var notes: [Note] {
    get { state.values.notes }
    set { own.values.notes = newValue }
  }

  init(
    role: Role = .server, listener: String, peer: ExchangePeer? = nil, version: Version, head: FieldSection,
    trace: TraceID?, begun: NIODeadline
  ) {
    state = State(
      Values(Arrival(role, listener: listener, peer: peer), version, head, trace: trace, begun: begun))
  }

  init(_ values: Values) {
    state = State(values)
  }

  /// The number of bytes of its values, with the head's text.
  package var size: Int {
    notes.reduce(MemoryLayout<Values>.stride + head.byteCount) { $0 + $1.text.utf8.count + $1.plugin.utf8.count }
  }

  /// The request's method; `nil` if the input was not a request.
  public var method: String? { head.value(of: .method) }
  /// `http` or `https`.
  public var scheme: String? { head.value(of: .scheme) }
  /// The host and port that the request is for.
  public var authority: String? { head.value(of: .authority) }
  /// The path with its query, which may be a secret.
  public var path: String? { head.value(of: .path) }
}

extension ExchangeRecord.Failure {
  /// Creates a failure whose party follows from the error alone.
  init(_ code: BywayError.Code) {
    self.code = code
    party =
      switch code {
      case .linkUnavailable, .linkLost: .link
      case .originUnavailable, .originUntrusted, .originLost, .incompleteResponse, .timedOut, .protocolViolation,
        .refused:
        .origin
      case .invalidRequest, .forbidden, .misdirected, .unsupported, .tooLarge, .cancelled, .loopDetected: .client
      default: .here
      }
  }
}
