import Byway
import NIOCore

/// A line opened without the line layer: sends raw bytes, and keeps received ones.
final class RawLine: Sendable {
  /// The maximum number of received bytes that wait for ``listen(for:until:)``. Further bytes are dropped.
  private static let memory = 64 * 1024

  let channel: any Channel
  private let handler: NIOLoopBound<Hearing>

  /// - Throws: ``BywayError`` if the line cannot be opened.
  static func open(_ address: LinkAddress, over medium: any Transport, _ resources: OpenedResources) async throws
    -> RawLine
  {
    try Task.checkCancellation()
    let channel = try await resources.channel {
      try await medium.connect(to: address, context: .ofExamination(within: .seconds(4)))
    }
    return try await channel.eventLoop.submit { try RawLine(channel) }.get()
  }

  /// Called on the channel's event loop.
  private init(_ channel: any Channel) throws {
    self.channel = channel
    let hearing = Hearing(limit: Self.memory)
    handler = NIOLoopBound(hearing, eventLoop: channel.eventLoop)
    try channel.pipeline.syncOperations.addHandler(hearing)
    channel.startReading()
  }

  /// Sends bytes without waiting: a line that is stopped by flow control must not block the examination.
  func say(_ bytes: [UInt8]) {
    channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
  }

  /// Listens for that time, or until the received bytes suffice.
  /// - Returns: all bytes received since the last call.
  func listen(
    for limit: Duration, until isEnough: @escaping @Sendable ([UInt8]) -> Bool = { _ in false }
  ) async -> [UInt8] {
    let bytes = channel.eventLoop.flatSubmit {
      self.handler.value.listen(for: TimeAmount(limit), on: self.channel, until: isEnough)
    }
    return (try? await bytes.get()) ?? []
  }

  /// Closes the line, and returns when the port is free again.
  func close() async {
    try? await channel.close().get()
  }
}

/// The last handler of a line's pipeline.
private final class Hearing: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private struct Wait {
    let isEnough: @Sendable ([UInt8]) -> Bool
    let promise: EventLoopPromise<[UInt8]>
  }

  private let limit: Int
  private var heard: [UInt8] = []
  private var wait: Wait?
  private var isOver = false

  init(limit: Int) {
    self.limit = limit
  }

  func listen(
    for time: TimeAmount, on channel: any Channel, until isEnough: @escaping @Sendable ([UInt8]) -> Bool
  ) -> EventLoopFuture<[UInt8]> {
    end()
    let promise = channel.eventLoop.makePromise(of: [UInt8].self)
    wait = Wait(isEnough: isEnough, promise: promise)
    let timer = channel.eventLoop.assumeIsolated().scheduleTask(in: time) { self.end() }
    promise.futureResult.whenComplete { _ in timer.cancel() }
    if isOver || (!heard.isEmpty && isEnough(heard)) { end() }
    return promise.futureResult
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = unwrapInboundIn(data)
    heard += bytes.readableBytesView.prefix(limit - heard.count)
    if let wait, wait.isEnough(heard) { end() }
  }

  func channelInactive(context: ChannelHandlerContext) {
    isOver = true
    end()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  private func end() {
    guard let wait else { return }
    self.wait = nil
    let heard = heard
    self.heard = []
    wait.promise.succeed(heard)
  }
}

extension TimeAmount {
  init(_ duration: Duration) { self = .nanoseconds(Int64(duration / .nanoseconds(1))) }
}
