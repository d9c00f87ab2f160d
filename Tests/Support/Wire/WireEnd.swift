package import NIOCore
import NIOPosix

/// A connection on which a test sends and receives raw bytes.
package struct WireEnd: Sendable {
  private let channel: any Channel
  private let inbox: WireInbox
  private let watch: Watch

  // MARK: Connecting

  /// Connects to a server.
  package static func connect(to address: SocketAddress, on eventLoop: any EventLoop) async throws -> WireEnd {
    let inbox = WireInbox()
    let channel = try await ClientBootstrap(group: eventLoop)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(inbox) }
      }
      .connect(to: address).get()
    return WireEnd(channel: channel, inbox: inbox, watch: Watch(eventLoop))
  }

  /// Makes a TCP connection within this process.
  /// - Parameter prepare: sets up the far end's pipeline.
  package static func pair(
    on eventLoop: any EventLoop, prepare: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
  ) async throws -> (near: WireEnd, far: any Channel) {
    let accepted = eventLoop.makePromise(of: (any Channel).self)
    let server = try await ServerBootstrap(group: eventLoop)
      .childChannelInitializer { channel in
        prepare(channel).map { accepted.succeed(channel) }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    guard let address = server.localAddress else { throw ChannelError.unknownLocalAddress }
    let near = try await connect(to: address, on: eventLoop)
    let far = try await accepted.futureResult.get()
    try await server.close()
    // The promise is completed before the channel is registered.
    try await near.watch.until("the far end is active") { far.isActive }
    return (near, far)
  }

  // MARK: Sending

  package func send(_ text: String) async throws {
    try await channel.writeAndFlush(ByteBuffer(string: text))
  }

  /// Writes bytes without waiting until the peer reads them.
  package func offer(_ bytes: ByteBuffer) {
    channel.writeAndFlush(bytes, promise: nil)
  }

  package func endOutput() async throws {
    try await channel.close(mode: .output)
  }

  package func close() {
    channel.close(promise: nil)
  }

  /// Resets the connection.
  package func reset() async throws {
    guard let provider = channel as? any SocketOptionProvider else { throw ChannelError.operationUnsupported }
    try await provider.setSoLinger(.init(l_onoff: 1, l_linger: 0)).get()
    close()
  }

  package func setReading(_ isReading: Bool) async throws {
    try await channel.setOption(.autoRead, value: isReading).get()
  }

  // MARK: Receiving

  /// Waits until this text has arrived, and removes and returns everything up to its end.
  package func receive(through text: String) async throws -> String {
    let wanted = Array(text.utf8)
    return try await watch.value("\"\(text)\" came; there was \"\(String(buffer: inbox.received))\"") {
      [inbox] in inbox.take(through: wanted)
    }
  }

  /// Waits for `count` bytes, and removes and returns them.
  package func receive(count: Int) async throws -> ByteBuffer {
    try await watch.value("\(count) bytes came") { [inbox] in inbox.received.readSlice(length: count) }
  }

  /// Waits until the peer ends its direction, and returns everything that has arrived.
  package func receiveToEnd() async throws -> String {
    try await watch.value("the peer ended; there was \"\(String(buffer: inbox.received))\"") {
      [inbox] in inbox.isEnded ? inbox.received.readString(length: inbox.received.readableBytes) : nil
    }
  }

  /// Returns the bytes that have arrived so far.
  package func peek() async throws -> String {
    try await watch.run { [inbox] in String(buffer: inbox.received) }
  }

  /// Returns whether the peer has ended its direction by now.
  package func hasEnded() async throws -> Bool {
    try await watch.run { [inbox] in inbox.isEnded }
  }

  /// Waits for the end of the connection, and returns whether it was a reset.
  package func wasReset() async throws -> Bool {
    try await watch.value("the connection ended") { [inbox] in inbox.isEnded ? inbox.isReset : nil }
  }
}

/// `@unchecked Sendable`: used on the channel's event loop only.
private final class WireInbox: ChannelInboundHandler, @unchecked Sendable {
  typealias InboundIn = ByteBuffer

  var received = ByteBuffer()
  private(set) var isEnded = false
  private(set) var isReset = false

  func take(through wanted: [UInt8]) -> String? {
    guard let found = received.readableBytesView.firstRange(of: wanted) else { return nil }
    return received.readString(length: found.upperBound - received.readerIndex)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    received.writeImmutableBuffer(unwrapInboundIn(data))
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? ChannelEvent, event == .inputClosed { isEnded = true }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    isReset = true
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    isEnded = true
  }
}
