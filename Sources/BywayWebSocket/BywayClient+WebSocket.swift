public import Byway
public import HTTPTypes
import NIOCore
import NIOPosix
import NIOWebSocket

extension BywayClient {
  /// Opens a WebSocket at an origin behind the link, and closes it when `body` returns. If `body` throws, the connection ends without a
  /// close.
  ///
  /// It passes the client's interceptors as a CONNECT with `:protocol` (RFC 8441), which the gateway turns into an upgrade if the origin
  /// speaks HTTP/1.1.
  ///
  /// - Parameters:
  ///   - url: a URL with `ws`, `wss`, `http` or `https`.
  ///   - protocols: subprotocols, the preferred one first (RFC 6455 §1.9).
  ///   - fields: further fields of the request.
  /// - Throws: `BywayError`: the errors of a request, or `refused` if the response opens no WebSocket.
  public func withWebSocket<Result>(
    _ url: String, protocols: [String] = [], fields: HTTPFields = [:],
    configuration: WebSocket.Configuration = .defaults, isolation: isolated (any Actor)? = #isolation,
    _ body: (WebSocket) async throws -> Result
  ) async throws -> Result {
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let (tunnel, requestBody) = BodyChannel.make(on: eventLoop)
    var opening = try WebSocketOpening(url: url, protocols: protocols, fields: fields)
    opening.request.body = requestBody
    opening.request.deadline = configuration.opening.map { .now() + TimeAmount($0) }
    let response = try await execute(opening.request)
    let subprotocol = try opening.subprotocol(in: response)

    let ending = WebSocketEnding()
    let channel = try await eventLoop.submit { try tunnel.webSocketChannel(ending, configuration) }.get()
    let receiving = Task { await tunnel.receive(response.body) }
    defer { receiving.cancel() }
    return try await channel.executeThenClose { inbound, outbound in
      let socket = WebSocket(
        subprotocol: subprotocol, messages: WebSocket.Messages(inbound: inbound), outbound: outbound, ending: ending)
      let result = try await body(socket)
      // It may be closed already.
      try? await socket.close()
      if !Task.isCancelled { try? await channel.channel.closeFuture.get() }
      return result
    }
  }
}

extension BodyChannel {
  /// Sets up the channel. On the event loop.
  fileprivate func webSocketChannel(
    _ ending: WebSocketEnding, _ configuration: WebSocket.Configuration
  ) throws -> NIOAsyncChannel<WebSocket.Message, WebSocketHandler.Outgoing> {
    guard let channel else { throw ChannelError.ioOnClosedChannel }
    let limit = configuration.maximumMessageSize
    try channel.pipeline.syncOperations.addHandlers([
      ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: limit)), WebSocketFrameEncoder(), ServerFrameRules(),
      NIOWebSocketFrameAggregator(
        minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 65_536, maxAccumulatedFrameSize: limit),
      WebSocketHandler(ending, patience: TimeAmount(configuration.closing)),
    ])
    let result = try NIOAsyncChannel<WebSocket.Message, WebSocketHandler.Outgoing>(
      wrappingChannelSynchronously: channel)
    open()
    return result
  }
}
