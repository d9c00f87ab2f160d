import Byway
import BywayLibC
import NIOCore

/// Connects the lifetimes of a channel and a child process: the channel ends with the child and reports the reason, and the
/// child ends with the channel.
final class ChildHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer

  /// The time that the end of the child's output waits for its exit and its last error line.
  private static let patience = TimeAmount.milliseconds(250)

  private enum Phase {
    case running
    /// The child's output has ended. The owner has not been informed yet.
    case ending(timeout: Scheduled<Void>)
    /// The owner has been informed.
    case ended
  }

  private let name: String
  private let child: ChildProcess
  private let exitFuture: EventLoopFuture<ChildProcess.Exit>
  private let inputReader: CInt
  private let log: StandardErrorLog
  private let logEnd: EventLoopFuture<Void>
  private let grace: TimeAmount

  private var phase = Phase.running
  private var hasOwner = false
  private var hasSent = false
  private var exit: ChildProcess.Exit?
  private var logHasEnded = false
  private var isLate = false

  init(
    name: String, child: ChildProcess, exit: EventLoopFuture<ChildProcess.Exit>, inputReader: CInt,
    log: StandardErrorLog, logEnd: EventLoopFuture<Void>, grace: TimeAmount
  ) {
    self.name = name
    self.child = child
    self.exitFuture = exit
    self.inputReader = inputReader
    self.log = log
    self.logEnd = logEnd
    self.grace = grace
  }

  func channelActive(context: ChannelHandlerContext) {
    exitFuture.assumeIsolated().whenSuccess { exit in
      self.exit = exit
      self.conclude(context)
    }
    logEnd.assumeIsolated().whenComplete { _ in
      self.logHasEnded = true
      self.conclude(context)
    }
    context.fireChannelActive()
  }

  /// Only an owner reads. The end is reported after the first read, because it closes the channel.
  func read(context: ChannelHandlerContext) {
    context.read()
    guard !hasOwner else { return }
    hasOwner = true
    conclude(context)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    hasSent = true
    context.fireChannelRead(data)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case ChannelEvent.inputClosed? = event as? ChannelEvent, case .running = phase else {
      return context.fireUserInboundEventTriggered(event)
    }
    let timeout = context.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) {
      self.isLate = true
      self.conclude(context)
    }
    phase = .ending(timeout: timeout)
    conclude(context)
  }

  func channelInactive(context: ChannelHandlerContext) {
    if case .ending(let timeout) = phase { timeout.cancel() }
    phase = .ended
    BywayLibC.close(inputReader)
    terminate(on: context.eventLoop)
    context.fireChannelInactive()
  }

  /// Reports the end to the owner, with the reason if it is known in time.
  private func conclude(_ context: ChannelHandlerContext) {
    switch phase {
    case .running:
      return
    case .ending(let timeout):
      guard hasOwner, isLate || (exit != nil && logHasEnded) else { return }
      timeout.cancel()
      phase = .ended
      if let failure { context.fireErrorCaught(failure) }
      context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    case .ended:
      guard context.channel.isActive, exit != nil else { return }
      if let failure { context.fireErrorCaught(failure) }
    }
    // The child can no longer be written to.
    if exit != nil { context.close(promise: nil) }
  }

  private var failure: BywayError? {
    guard let exit, exit != .status(0) || !hasSent else { return nil }
    let how =
      switch exit {
      case .status(let status): "exited with status \(status)"
      case .signal(let signal): "was ended by signal \(signal) (\(String(cString: strsignal(signal))))"
      }
    let words = log.lastLine.map { " Its last words: \($0)" } ?? ""
    var error =
      hasSent
      ? BywayError(.linkLost, "\(name) \(how).\(words)")
      : BywayError(.linkUnavailable, "\(name) \(how) before it sent a byte.\(words)")
    error.evidence = ProgramEnd(ProgramEnd.Exit(exit), lastWords: log.lastLine, hasSent: hasSent)
    return error
  }

  /// Ends the child if it does not exit by itself. Its standard input is closed by now, which ends most programs.
  private func terminate(on loop: any EventLoop) {
    guard exit == nil else { return }
    let (child, grace) = (child, grace)
    let kill = loop.scheduleTask(in: grace * 2) { child.signal(SIGKILL) }
    let term = loop.scheduleTask(in: grace) { child.signal(SIGTERM) }
    exitFuture.whenComplete { _ in
      term.cancel()
      kill.cancel()
    }
  }
}

extension ProgramEnd.Exit {
  fileprivate init(_ exit: ChildProcess.Exit) {
    switch exit {
    case .status(let status): self = .status(status)
    case .signal(let signal): self = .signal("\(signal)")
    }
  }
}
