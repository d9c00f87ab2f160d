public import NIOCore

/// One WebSocket (RFC 6455), as `BywayClient.withWebSocket(_:protocols:fields:configuration:isolation:_:)` opens it.
///
/// Pings are answered by themselves. Safe on any thread; one task reads.
public struct WebSocket: Sendable {
  /// What is sent and received (RFC 6455 §5.6), always whole.
  public enum Message: Sendable, Hashable {
    /// A text, in UTF-8 on the wire.
    case text(String)
    /// Any bytes.
    case binary(ByteBuffer)
  }

  /// How the server closed (RFC 6455 §7.4).
  public struct Closure: Sendable, Hashable {
    /// 1005 where the server gave none.
    public let code: Int
    /// The server's words, at most 123 bytes; empty where it gave none.
    public let reason: String

    package init(code: Int, reason: String) {
      self.code = code
      self.reason = reason
    }
  }

  /// Limits of one WebSocket.
  public struct Configuration: Sendable {
    /// Bytes of one message that comes; a larger one ends the WebSocket with code 1009.
    public var maximumMessageSize = 16 << 20
    /// How long the server may take to close after this end has.
    public var closing = TimeAmount.seconds(5)
    /// How long the opening may take; `nil`: what the client allows a request.
    public var opening: TimeAmount?

    /// Messages of up to 16 MiB, and 5 seconds for the server to close.
    public static var defaults: Configuration { Configuration() }

    /// The same as ``defaults``.
    public init() {}
  }

  /// Which of the protocols asked for the server chose (RFC 6455 §1.9).
  public let subprotocol: String?
  /// What comes, until the server closes.
  ///
  /// Throws `BywayError`: `protocolViolation` or `tooLarge` where the server breaks the rules, `originLost` where the
  /// connection ends without a close, and what the link has to say.
  public let messages: Messages

  let outbound: NIOAsyncChannelOutboundWriter<WebSocketHandler.Outgoing>
  let ending: WebSocketEnding

  /// How the server closed; `nil` until ``messages`` has ended in good order.
  public var closure: Closure? { ending.closure }

  /// Returns when the message is on its way, which a slow reader at the far end delays.
  /// - Throws: `BywayError` with code `cancelled` where the WebSocket is closed.
  public func send(_ message: Message) async throws {
    try await write(.message(message))
  }

  /// Sends a text.
  /// - Throws: `BywayError` with code `cancelled` where the WebSocket is closed.
  public func send(_ text: String) async throws {
    try await send(.text(text))
  }

  /// Sends no more. ``messages`` ends when the server has closed as well, or the time for that is over.
  /// - Parameters:
  ///   - code: 1000, or one of 3000 to 4999, whose meaning is the application's.
  ///   - reason: at most 123 bytes.
  public func close(code: Int = 1000, reason: String = "") async throws {
    try await write(.close(CloseFrame(code: code, reason: reason)))
    ending.closed()
  }

  private func write(_ outgoing: WebSocketHandler.Outgoing) async throws {
    try ending.checkOpen()
    do {
      try await outbound.write(outgoing)
    } catch {
      throw ending.explain(error)
    }
  }

  /// The messages of a ``WebSocket``, for one task.
  public struct Messages: AsyncSequence, Sendable {
    public typealias Element = Message

    let inbound: NIOAsyncChannelInboundStream<Message>

    public func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(inbound: inbound.makeAsyncIterator())
    }

    /// Takes one message after another.
    public struct AsyncIterator: AsyncIteratorProtocol {
      var inbound: NIOAsyncChannelInboundStream<Message>.AsyncIterator

      /// The next message, `nil` when the server has closed.
      public mutating func next() async throws -> Message? {
        try await inbound.next()
      }
    }
  }
}
