package import HTTPWire
public import NIOCore

/// What is known of an exchange so far, at the hop that serves it.
public struct ExchangeRecord: Sendable {
  /// What this hop is to the exchange.
  public enum Role: Sendable, Hashable {
    /// It serves the exchange to a client.
    case server
    /// It asks, for the program that it is part of: ``BywayClient``.
    case client
  }

  /// In which version of HTTP the client has asked.
  public enum Version: String, Sendable, Hashable {
    /// HTTP/1.0.
    case http1_0 = "1.0"
    /// HTTP/1.1.
    case http1_1 = "1.1"
    /// HTTP/2.
    case http2 = "2"
  }

  /// Whose doing a failure was.
  public enum Party: String, Sendable, Hashable {
    /// It went away, or asked for what it cannot have.
    case client
    /// The link was down, or was lost.
    case link
    /// It did not answer, or not well.
    case origin
    /// This hop itself.
    case here
  }

  /// Why there was no response, or no end of it.
  public struct Failure: Sendable, Hashable {
    /// What kind of failure it was.
    public let code: BywayError.Code
    /// Whose doing it was.
    public let party: Party
  }

  /// When an exchange was on the wire of a serial line: by what each end has acknowledged, and the line's rate and round trip. All are `nil`
  /// on other links.
  public struct Wire: Sendable, Hashable {
    /// The request's first byte began to leave: until then others' were before it.
    public internal(set) var left: NIODeadline?
    /// All of the request was at the far end.
    public internal(set) var arrived: NIODeadline?
    /// The far end began to send the response.
    public internal(set) var replied: NIODeadline?
  }

  /// Which end of the exchange is here.
  public let role: Role
  /// The address at which the client came in; empty where it is this program itself.
  public let listener: String
  /// In which version of HTTP it has asked.
  public let version: Version
  /// The request's head, as it is forwarded; empty where what came was none.
  package let head: FieldSection
  /// Made of the head once, because whoever counts asks for it at every turn.
  package let kind: RequestKind
  /// By which the hops of an exchange name it in their logs; `nil` where what came was no request, or has none and nobody wants it.
  public let trace: TraceID?

  /// Who has sent it; `nil` where nobody asks, or it is not known.
  public internal(set) var user: String?

  /// When the request's head had come. The phases that follow have not been reached while they are `nil`.
  public let begun: NIODeadline
  /// When the request left on a connection, after it had waited for that; the latest time, where it was sent again.
  public internal(set) var sent: NIODeadline?
  /// When the request was whole.
  public internal(set) var requestEnded: NIODeadline?
  /// When the response's head came.
  public internal(set) var answered: NIODeadline?
  /// When the response was whole, or failed. The rest of it may not have reached its client yet.
  public internal(set) var ended: NIODeadline?

  /// When it was on the wire of a serial line, as far as that is known.
  public internal(set) var wire = Wire()

  /// How often the request was sent.
  public internal(set) var attempts = 0
  /// Where it was sent: an origin, or a link. `nil` where nobody was asked.
  public internal(set) var upstream: String?
  /// ``upstream`` is a place that the client has named, and not one of the configuration.
  public internal(set) var isClientsChoice = false

  /// Of the response that the client got, whoever made it; `nil` where it got none.
  public internal(set) var status: Int?
  /// `nil` where nothing has failed.
  public internal(set) var failure: Failure?
  /// Bytes of the request's body that have come.
  public internal(set) var requestBytes = 0
  /// Bytes of the response's body that were given to the client's connection.
  public internal(set) var responseBytes = 0
  /// Bytes of the response's body as they came from the far end: fewer where they came compressed, none from a cache.
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
    kind = RequestKind(head)
  }

  /// Stands in the place of one for a moment.
  static let nothing = ExchangeRecord(
    listener: "", version: .http1_1, head: FieldSection(), trace: nil, begun: .uptimeNanoseconds(0))

  /// The request's method; `nil` where what came was no request.
  public var method: String? { head.value(of: .method) }
  /// `http` or `https`.
  public var scheme: String? { head.value(of: .scheme) }
  /// The host that the request is for, and its port.
  public var authority: String? { head.value(of: .authority) }
  /// With the query, which may be a secret.
  public var path: String? { head.value(of: .path) }
}

extension ExchangeRecord.Failure {
  /// Where nothing but the error tells.
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
