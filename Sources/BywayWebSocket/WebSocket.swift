public import NIOCore

/// A WebSocket (RFC 6455), as opened by `BywayClient.withWebSocket(_:protocols:fields:configuration:isolation:_:)`.
///
/// Pings are answered automatically. Safe on any thread; one task reads.
public struct WebSocket: Sendable {
  /// A complete message (RFC 6455 §5.6).
  public enum Message: Sendable, Hashable {
    /// A text, in UTF-8 on the wire.
    case text(String)
    /// Any bytes.
    case binary(ByteBuffer)
  }

  /// The server's close (RFC 6455 §7.4).
  public struct Closure: Sendable, Hashable {
    /// The code; 1005 if the server sent none.
    public let code: Int
    /// The server's reason, at most 123 bytes; empty if it sent none.
    public let reason: String
  }

  /// Limits of one WebSocket.
  public struct Configuration: Sendable {
    /// The maximum size of a received message in bytes; a larger one ends the WebSocket with code 1009.
    public var maximumMessageSize = 16 << 20
    /// How long the server may take to close after this end has closed.
    public var closing = Duration.seconds(5)
    /// How long the opening may take; `nil`: the client's limit for a request.
    public var opening: Duration?

    /// Messages of up to 16 MiB, and 5 seconds for the server to close.
    public static var defaults: Configuration { Configuration() }

    /// Creates the same as ``defaults``.
    public init() {}
  }

  /// The requested protocol that the server chose (RFC 6455 §1.9).
  public let subprotocol: String?
  /// The received messages, until the server closes.
  ///
  /// Throws `BywayError`: `protocolViolation` or `tooLarge` if the server violates the protocol, `originLost` if the connection ends
  /// without a close, or an error of the link.
  public let messages: Messages

  let outbound: NIOAsyncChannelOutboundWriter<WebSocketHandler.Outgoing>
  let ending: WebSocketEnding

  /// The server's close; `nil` until ``messages`` has ended normally.
  public var closure: Closure? { ending.closure }

  /// Sends a message. Returns when it is on its way, which a slow reader at the remote end delays.
  /// - Throws: `BywayError` with code `cancelled` if the WebSocket is closed.
  public func send(_ message: Message) async throws {
    try await write(.message(message))
  }

  /// Sends a text.
  /// - Throws: `BywayError` with code `cancelled` if the WebSocket is closed.
  public func send(_ text: String) async throws {
    try await send(.text(text))
  }

  /// Closes this end's direction. ``messages`` ends when the server has closed as well, or its time for that has passed.
  /// - Parameters:
  ///   - code: 1000, or one of 3000 to 4999, whose meaning is defined by the application.
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

    /// Returns one message after another.
    public struct AsyncIterator: AsyncIteratorProtocol {
      var inbound: NIOAsyncChannelInboundStream<Message>.AsyncIterator

      /// Returns the next message; `nil` when the server has closed.
      public mutating func next() async throws -> Message? {
        try await inbound.next()
      }
    }
  }
}
