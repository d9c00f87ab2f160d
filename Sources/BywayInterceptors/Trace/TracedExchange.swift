public import Byway
public import HTTPTypes
public import NIOCore

/// A request and its outcome, with secrets replaced.
public struct TracedExchange: Sendable {
  /// The request, without its body.
  public var request: HTTPRequest
  /// `nil` if there was none.
  public var response: HTTPResponse?
  /// The reason why there was no response, or no end of its body.
  public var failure: String?
  /// The status that a proxy or a gateway answers in place of a missing response; `nil` if its client has gone away.
  public var failureStatus: HTTPResponse.Status?
  /// The remarks of plugins.
  public var notes: [ExchangeRecord.Note] = []
  /// The known facts about the request's body.
  public var requestBody = Content()
  /// The known facts about the response's body.
  public var responseBody = Content()
  /// The time when the request passed, since the beginning of 1970 in UTC.
  public var started: Duration
  /// The time in which a user of the inspector delayed the request. It counts in no other of these times.
  package var held = Duration.zero
  /// The time from then until the request's body had been read, or the response began.
  public var sending = Duration.zero
  /// The time from then until the response's head.
  public var waiting = Duration.zero
  /// The time from then until the end of the response's body.
  public var receiving = Duration.zero

  /// The time from the passing of the request until the end of the response's body.
  public var duration: Duration { held + sending + waiting + receiving }

  /// Creates an exchange that has only begun, for tests of a ``TraceRecorder``.
  /// - Parameters:
  ///   - request: The request.
  ///   - started: The time when it passed, since the beginning of 1970 in UTC.
  public init(request: HTTPRequest, started: Duration) {
    self.request = request
    self.started = started
  }

  /// The known facts about a body.
  public struct Content: Sendable {
    /// The number of bytes that passed.
    public var length = 0
    /// The number of bytes that were kept, from its beginning.
    public var keptLength = 0
    /// The kept bytes, with secrets replaced.
    public var kept = ByteBuffer()
    /// Whether ``kept`` is without its content coding, because a secret was removed from it.
    package var isRestored = false

    package init() {}
  }

  /// The request's URL, for people. A tunnel has a host and a port only (RFC 9110 §7.1), and is shown with https, the usual
  /// protocol in tunnels.
  public var url: String {
    if isWebSocket {
      return "\(request.scheme == "https" ? "wss" : "ws")://\(request.authority ?? "")\(request.path ?? "/")"
    }
    return "\(request.scheme ?? "https")://\(request.authority ?? "")\(request.path ?? "/")"
  }

  /// Whether it opens a WebSocket: CONNECT in HTTP/2 (RFC 8441), which HTTP/1.1 has as GET and 101.
  package var isWebSocket: Bool { request.kind == .webSocket }
}
