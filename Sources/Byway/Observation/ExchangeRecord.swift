package import HTTPWire
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

  /// The role of this hop.
  public let role: Role
  /// The address on which the client connected; empty if this program itself is the client.
  public let listener: String
  /// The HTTP version of its request.
  public let version: Version
  /// The request's head, as it is forwarded; empty if the input was not a request.
  package let head: FieldSection
  /// Computed once from the head, because counters ask for it often.
  package let labels: RequestLabels
  /// The id of the exchange in the logs of its hops; `nil` if the input was not a request, or if it has no id and no observer wants one.
  public let trace: TraceID?

  /// The user that sent it; `nil` if users are not identified, or it is not known.
  public internal(set) var user: String?

  /// When the request's head had arrived. The later times are `nil` until their phase is reached.
  public let begun: NIODeadline
  /// When the request was sent on a connection, after waiting for one; the latest time if it was sent again.
  public internal(set) var sent: NIODeadline?
  /// When the request was complete.
  public internal(set) var requestEnded: NIODeadline?
  /// When the response's head arrived.
  public internal(set) var answered: NIODeadline?
  /// When the response was complete, or failed. Its last bytes may not have reached the client yet.
  public internal(set) var ended: NIODeadline?

  /// The times on the wire of a serial line, as far as they are known.
  public internal(set) var wire = Wire()

  /// How often the request was sent.
  public internal(set) var attempts = 0
  /// The target that it was sent to: an origin, or a link. `nil` if it was not sent.
  public internal(set) var upstream: String?
  /// Whether ``upstream`` was chosen by the client, and not by the configuration.
  public internal(set) var isClientsChoice = false

  /// The status of the response that the client got, from any hop; `nil` if it got none.
  public internal(set) var status: Int?
  /// `nil` without a failure.
  public internal(set) var failure: Failure?
  /// Bytes of the request's body that have arrived.
  public internal(set) var requestBytes = 0
  /// Bytes of the response's body that were passed to the client's connection.
  public internal(set) var responseBytes = 0
  /// Bytes of the response's body as received from the remote end: fewer if they were compressed, none from a cache.
  public internal(set) var carriedBytes = 0

  init(
    role: Role = .server, listener: String, version: Version, head: FieldSection, trace: TraceID?, begun: NIODeadline
  ) {
    self.role = role
    self.listener = listener
    self.version = version
    self.head = head
    self.trace = trace
    self.begun = begun
    labels = RequestLabels(head)
  }

  /// A placeholder while the record is moved out.
  static let nothing = ExchangeRecord(
    listener: "", version: .http1_1, head: FieldSection(), trace: nil, begun: .uptimeNanoseconds(0))

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
