import BywayPrimitives
package import NIOCore

/// A remote shell on a channel that runs each line it gets: ``Link/openShell(_:)``.
///
/// One command at a time. Lives on the event loop of its channel; its functions may be called from anywhere.
package final class RemoteShell: @unchecked Sendable {
  // Sendable: its variables are used on the event loop only.

  package struct Answer: Sendable, Equatable {
    package let status: Int
    /// The output of the command.
    package let text: String

    package init(status: Int, text: String) {
      self.status = status
      self.text = text
    }
  }

  /// The reason why there is no answer.
  package enum Failure: Error, Equatable {
    case silent
    case closed
  }

  private static let longestAnswer = 16 << 10

  private let channel: any Channel
  private let seed: UInt32
  private var output: [UInt8] = []
  private var waiting: (mark: ShellMark, promise: EventLoopPromise<Answer>)?
  private var isClosed = false
  private var count = 0

  private init(_ channel: any Channel, seed: UInt32) {
    self.channel = channel
    self.seed = seed
  }

  /// Takes over a channel.
  /// - Parameter seed: a random number, from which the marks are made.
  package static func start(
    on channel: any Channel, seed: UInt32 = .random(in: 0 ... .max)
  ) async throws -> RemoteShell {
    let shell = RemoteShell(channel, seed: seed)
    try await channel.eventLoop.submit {
      try channel.pipeline.syncOperations.addHandler(RemoteShellHandler(shell))
      channel.startReading()
    }.get()
    return shell
  }

  /// Runs a command of one line, and returns what it prints.
  /// - Throws: ``Failure``.
  package func run(_ command: String, within limit: TimeAmount) async throws -> Answer {
    try await channel.eventLoop.flatSubmit { self.send(command, within: limit) }.get()
  }

  /// Ends the shell and the channel.
  package func end() async {
    try? await channel.eventLoop.flatSubmit { () -> EventLoopFuture<Void> in
      self.channel.writeAndFlush(ByteBuffer(string: "exit\n")).flatMap { self.channel.close() }
    }.get()
  }

  private func send(_ command: String, within limit: TimeAmount) -> EventLoopFuture<Answer> {
    let promise = channel.eventLoop.makePromise(of: Answer.self)
    guard !isClosed, waiting == nil else {
      promise.fail(Failure.closed)
      return promise.futureResult
    }
    count += 1
    let mark = ShellMark("R\(count)", seed: seed)
    output = []
    waiting = (mark, promise)
    let timeout = channel.eventLoop.assumeIsolated().scheduleTask(in: limit) { self.fail(.silent) }
    promise.futureResult.whenComplete { _ in timeout.cancel() }
    // The first line break ends what a lost byte may have left.
    let line = "\n{ \(command); } 2>&1; \(mark.command(status: "$?"))\n"
    channel.writeAndFlush(ByteBuffer(string: line), promise: nil)
    return promise.futureResult
  }

  private func fail(_ failure: Failure) {
    waiting.take()?.promise.fail(failure)
  }

  fileprivate func received(_ bytes: ByteBuffer) {
    guard let mark = waiting?.mark else { return }
    output += bytes.readableBytesView
    if output.count > Self.longestAnswer { output.removeFirst(output.count - Self.longestAnswer) }
    guard let ending = mark.ending(in: output, from: output.count - bytes.readableBytes) else { return }
    let lines = String(decoding: ending.output, as: UTF8.self).split { $0.isNewline }
    waiting.take()?.promise.succeed(
      Answer(status: ending.status, text: lines.joined(separator: "\n").trimmed))
  }

  fileprivate func closed() {
    isClosed = true
    fail(.closed)
  }
}

private final class RemoteShellHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let shell: RemoteShell

  init(_ shell: RemoteShell) {
    self.shell = shell
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { shell.received(unwrapInboundIn(data)) }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent { context.close(promise: nil) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  func channelInactive(context: ChannelHandlerContext) { shell.closed() }
}
