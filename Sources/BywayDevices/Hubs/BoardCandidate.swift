import Byway
import NIOCore

/// A board that has dialed, until its greeting has arrived. Its handler keeps the bytes behind the greeting for the line.
///
/// Lives on its event loop.
final class BoardCandidate: ChannelInboundHandler, RemovableChannelHandler, HubCandidate {
  typealias InboundIn = ByteBuffer

  enum Answer {
    case greeting(BoardGreeting)
    case refused(HubRefusal)
    /// The connection has ended.
    case gone
  }

  private enum Phase {
    case awaitingGreeting((Answer) -> Void)
    /// Its line takes what comes.
    case answered
    /// All input is dropped until the board has read the reason, and closes.
    case refused
  }

  private static let patience = TimeAmount.seconds(5)
  /// The time in which a board that is refused may read the reason.
  private static let farewell = TimeAmount.seconds(2)

  let channel: any Channel
  private var phase: Phase
  private var timer: Scheduled<Void>?
  private var received = ByteBuffer()

  /// - Parameter told: gets the answer, once.
  init(_ channel: any Channel, _ told: @escaping (Answer) -> Void) {
    self.channel = channel
    phase = .awaitingGreeting(told)
  }

  /// Begins to read.
  func start() {
    timer = channel.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) { self.tell(.refused(.silent)) }
    do {
      try channel.pipeline.syncOperations.addHandler(self)
      channel.startReading()
    } catch {
      channel.close(promise: nil)
      tell(.gone)
    }
  }

  /// Closes the connection without a reason.
  func close() {
    phase = .refused
    timer?.cancel()
    channel.close(promise: nil)
  }

  /// Tells the board that it may begin its line.
  func welcome() {
    channel.writeAndFlush(ByteBuffer(bytes: [0]), promise: nil)
  }

  /// Tells the board why, and closes the connection when it has read that.
  func refuse(_ refusal: HubRefusal) {
    phase = .refused
    received.clear()
    let line = ByteBuffer(string: "refused \(refusal)\n")
    channel.writeAndFlush(line, promise: nil)
    channel.close(mode: .output, promise: nil)
    timer = channel.eventLoop.assumeIsolated().scheduleTask(in: Self.farewell) { self.channel.close(promise: nil) }
  }

  private func tell(_ answer: Answer) {
    guard case .awaitingGreeting(let told) = phase else { return }
    timer?.cancel()
    phase = .answered
    told(answer)
  }

  // MARK: ChannelInboundHandler

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    switch phase {
    case .refused: return
    case .answered: return context.fireChannelRead(data)
    case .awaitingGreeting: received.writeBuffer(&bytes)
    }
    let end = received.readableBytesView.firstIndex(of: UInt8(ascii: "\n"))
    guard (end ?? received.writerIndex) - received.readerIndex <= BoardGreeting.mostBytes else {
      return tell(.refused(.notABoard))
    }
    guard let end else { return }
    let line = received.readString(length: end - received.readerIndex) ?? ""
    received.moveReaderIndex(forwardBy: 1)
    do throws(HubRefusal) {
      tell(.greeting(try BoardGreeting(reading: line)))
    } catch {
      tell(.refused(error))
    }
    guard case .answered = phase else { return }
    if received.readableBytes > 0 { context.fireChannelRead(NIOAny(received)) }
    received = ByteBuffer()
    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard let end = event as? ChannelEvent, end == .inputClosed else {
      return context.fireUserInboundEventTriggered(event)
    }
    if case .answered = phase { return context.fireUserInboundEventTriggered(event) }
    context.close(promise: nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if case .answered = phase { return context.fireErrorCaught(error) }
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    tell(.gone)
    context.fireChannelInactive()
  }
}
