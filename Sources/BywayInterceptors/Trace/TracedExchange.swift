public import HTTPTypes
public import NIOCore

/// One request and what became of it, secrets replaced.
public struct TracedExchange: Sendable {
  /// What was asked, without its body.
  public var request: HTTPRequest
  /// `nil` where there was none.
  public var response: HTTPResponse?
  /// Why there was no response, or no end of its body.
  public var failure: String?
  /// What a proxy or a gateway answers in place of the response that there is not; `nil` where its client has gone.
  public var failureStatus: HTTPResponse.Status?
  /// What is known of the request's body.
  public var requestBody = Content()
  /// What is known of the response's body.
  public var responseBody = Content()
  /// When the request came by, since the beginning of 1970 in UTC.
  public var started: Duration
  /// From then until the request's body had been read, or the response began.
  public var sending = Duration.zero
  /// From then until the response's head.
  public var waiting = Duration.zero
  /// From then until the end of the response's body.
  public var receiving = Duration.zero

  /// From the request's coming by until the end of the response's body.
  public var duration: Duration { sending + waiting + receiving }

  /// An exchange that has only begun, for tests of a ``TraceRecorder``.
  /// - Parameters:
  ///   - request: what was asked.
  ///   - started: when, since the beginning of 1970 in UTC.
  public init(request: HTTPRequest, started: Duration) {
    self.request = request
    self.started = started
  }

  /// What is known of a body.
  public struct Content: Sendable {
    /// All that passed.
    public var length = 0
    /// How much of that was kept, from its beginning.
    public var keptLength = 0
    /// What was kept, secrets replaced.
    public var kept = ByteBuffer()
    /// ``kept`` is without its content coding, because a secret was taken out of it.
    package var isRestored = false

    package init() {}
  }

  /// For people: the request's URL. A tunnel has a host and a port only (RFC 9110 §7.1), and looks as if https went there,
  /// which is what tunnels are for.
  public var url: String {
    if isWebSocket {
      return "\(request.scheme == "https" ? "wss" : "ws")://\(request.authority ?? "")\(request.path ?? "/")"
    }
    return "\(request.scheme ?? "https")://\(request.authority ?? "")\(request.path ?? "/")"
  }

  /// It opens a WebSocket: CONNECT inside HTTP/2 (RFC 8441), and what everybody knows as GET and 101.
  package var isWebSocket: Bool { request.extendedConnectProtocol == "websocket" }
}
