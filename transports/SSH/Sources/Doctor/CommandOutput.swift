import Byway
import NIOCore

/// Collects what a command on the remote host prints, up to its end or to a limit.
final class CommandOutput: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private static let limit = 16 << 10

  private let whole: EventLoopPromise<String>
  private var output = ByteBuffer()

  init(_ whole: EventLoopPromise<String>) {
    self.whole = whole
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    output.writeImmutableBuffer(unwrapInboundIn(data))
    if output.readableBytes > Self.limit { finish(context) }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.read()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent { finish(context) }
  }

  /// The reason of the end does not matter; the output tells.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {}

  func channelInactive(context: ChannelHandlerContext) {
    finish(context)
  }

  private func finish(_ context: ChannelHandlerContext) {
    whole.succeed(String(buffer: output))
    context.close(promise: nil)
  }
}

extension SSHTransport {
  /// Runs a command that needs no input, over the login of a link.
  func output(of command: String, at login: SSHLoginTarget, context: LinkContext) async throws -> String {
    let channel = try await pool.open(
      .command(command), of: login, on: context.group, by: context.deadline, logger: context.logger)
    let loop = channel.eventLoop
    return try await loop.flatSubmit {
      let whole = loop.makePromise(of: String.self)
      let timeout = loop.scheduleTask(deadline: context.deadline) {
        whole.fail(BywayError(.timedOut, "The command did not end in time."))
        channel.close(promise: nil)
      }
      whole.futureResult.whenComplete { _ in timeout.cancel() }
      do {
        try channel.pipeline.syncOperations.addHandler(CommandOutput(whole))
        channel.read()
      } catch {
        whole.fail(error)
        channel.close(promise: nil)
      }
      return whole.futureResult
    }.get()
  }
}
