import Logging
import NIOCore

/// Runs a ``ConsoleLogin`` on the channel of a console, and then passes its bytes.
///
/// Holds bytes that arrive before the next owner reads. Closes the channel when the gateway at the far end has ended.
final class ConsoleHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum Phase {
    case login
    /// The time until the next owner reads.
    case holding([ByteBuffer])
    case passing
  }

  private let settings: ConsoleSettings
  private let address: LinkAddress
  private let logger: Logger
  private let opened: EventLoopPromise<Void>
  private var login: ConsoleLogin
  private var password: String?
  private var phase = Phase.login
  private var end: ShellMarkSearch
  private var timer: LazyTimer?

  init(
    _ settings: ConsoleSettings, goal: ConsoleLogin.Goal, address: LinkAddress, deadline: NIODeadline, logger: Logger,
    opened: EventLoopPromise<Void>, at now: NIODeadline
  ) {
    self.settings = settings
    self.address = address
    self.logger = logger
    self.opened = opened
    let seed = UInt32.random(in: 0 ... .max)
    end = ShellMarkSearch(ConsoleLogin.endMark(seed: seed))
    login = ConsoleLogin(
      settings, goal: goal, seed: seed, at: now.uptimeNanoseconds, deadline: deadline.uptimeNanoseconds)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    timer = LazyTimer(on: context.eventLoop) {
      let (handler, context) = bound.value
      handler.login.handleTimeout(at: context.eventLoop.now.uptimeNanoseconds)
      handler.act(context)
    }
    act(context)
  }

  func handlerRemoved(context: ChannelHandlerContext) { timer = nil }

  private func act(_ context: ChannelHandlerContext) {
    while let action = login.nextAction() {
      switch action {
      case .send(let bytes): send(bytes, context)
      case .sendPassword:
        password = ConsolePasswords.password(of: address, settings)
        if let password { send(Array("\(password)\r".utf8), context) } else { login.fail(.passwordNeeded) }
      case .ready(let rest): ready(rest, context)
      case .failed(let failure): failed(failure, context)
      }
    }
    timer?.set(login.nextDeadline.map { .uptimeNanoseconds($0) })
  }

  private func send(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
  }

  private func ready(_ rest: [UInt8], _ context: ChannelHandlerContext) {
    phase = .holding(rest.isEmpty ? [] : [ByteBuffer(bytes: rest)])
    try? context.channel.syncOptions?.setOption(.autoRead, value: false)
    opened.succeed()
  }

  private func failed(_ failure: ConsoleFailure, _ context: ChannelHandlerContext) {
    let failure = failure.hiding(password)
    if case .refused = failure {
      ConsolePasswords.noteRefusal(failure, of: address, settings, at: context.eventLoop.now)
    }
    opened.fail(BywayError(failure, settings, on: address))
    context.close(promise: nil)
  }

  // MARK: The channel

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = unwrapInboundIn(data)
    switch phase {
    case .login:
      login.receive(bytes.readableBytesView, at: context.eventLoop.now.uptimeNanoseconds)
      act(context)
    case .holding(let held): phase = .holding(held + [bytes])
    case .passing: pass(bytes, context)
    }
  }

  private func pass(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
    context.fireChannelRead(wrapInboundOut(bytes))
    guard end.isEnded(by: bytes.readableBytesView) else { return }
    logger.notice("The gateway behind the console has ended", metadata: ["link": "\(address)"])
    context.close(promise: nil)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if case .passing = phase { context.fireChannelReadComplete() }
  }

  func read(context: ChannelHandlerContext) {
    if case .holding(let held) = phase {
      phase = .passing
      for bytes in held { pass(bytes, context) }
      if !held.isEmpty { context.fireChannelReadComplete() }
    }
    context.read()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .login = phase, case ChannelEvent.inputClosed? = event as? ChannelEvent {
      login.closed()
      return act(context)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if case .login = phase {
      // The error of the medium says more, for example that its program has ended.
      opened.fail(
        error as? BywayError
          ?? BywayError(.linkUnavailable, "The console at \(address) failed.", processing: .none, cause: error))
      return context.close(promise: nil)
    }
    context.fireErrorCaught(error)
  }

  func channelInactive(context: ChannelHandlerContext) {
    login.closed()
    act(context)
    context.fireChannelInactive()
  }
}

extension BywayError {
  init(_ failure: ConsoleFailure, _ settings: ConsoleSettings, on address: LinkAddress) {
    self.init(.linkUnavailable, failure.message(settings, on: address), processing: .none)
    evidence = failure
  }
}
