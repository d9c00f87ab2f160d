import BywayPrimitives
package import NIOCore

/// A shell at the far end of a channel that runs each line it gets: ``Link/openShell(_:)``.
///
/// One command at a time. Lives on the event loop of its channel; its functions may be called from anywhere.
package final class RemoteShell: @unchecked Sendable {
  // Sendable: its variables are used on the event loop only.

  package struct Answer: Sendable, Equatable {
    package let status: Int
    /// What the command has printed.
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
  private var output: [UInt8] = []
  private var mark: [UInt8] = []
  private var waiting: EventLoopPromise<Answer>?
  private var isClosed = false
  private var count = 0

  private init(_ channel: any Channel) {
    self.channel = channel
  }

  /// Takes over a channel.
  package static func start(on channel: any Channel) async throws -> RemoteShell {
    let shell = RemoteShell(channel)
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
    mark = Array("BYWAY-R-\(count)-".utf8)
    output = []
    waiting = promise
    let timeout = channel.eventLoop.assumeIsolated().scheduleTask(in: limit) { self.fail(.silent) }
    promise.futureResult.whenComplete { _ in timeout.cancel() }
    // The first line break ends what a lost byte may have left.
    let line = #"{ \#(command); } 2>&1; echo "BY""WAY-R-\#(count)-$?-""#
    channel.writeAndFlush(ByteBuffer(string: "\n\(line)\n"), promise: nil)
    return promise.futureResult
  }

  private func fail(_ failure: Failure) {
    waiting.take()?.fail(failure)
  }

  fileprivate func received(_ bytes: ByteBuffer) {
    guard waiting != nil else { return }
    let new = output.count
    output += bytes.readableBytesView
    if output.count > Self.longestAnswer { output.removeFirst(output.count - Self.longestAnswer) }
    // A status behind the mark may have arrived in part.
    var start = max(0, min(new, output.count - bytes.readableBytes) - mark.count - 8)
    while start + mark.count < output.count {
      if output[start...].starts(with: mark) {
        let digits = output[(start + mark.count)...].prefix { (0x30...0x39).contains($0) }
        guard digits.endIndex < output.count, let status = Int(String(decoding: digits, as: UTF8.self)) else { return }
        return answer(status, output[..<start])
      }
      start += 1
    }
  }

  private func answer(_ status: Int, _ text: ArraySlice<UInt8>) {
    let lines = String(decoding: text, as: UTF8.self).split { $0.isNewline }
    waiting.take()?.succeed(Answer(status: status, text: lines.joined(separator: "\n").trimmed))
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
