import BywayHTTPWire
import BywayLibC
import BywayLineLayer
import NIOCore

/// The role-specific part of a connection, which handles its session's events. Called on the event loop.
protocol ConnectionOwner: AnyObject {
  /// Handles every event of the session, until the driver's end.
  func deliver()
  /// The peer has ended its sending direction.
  /// - Parameter isClosed: whether both directions have ended: the channel is closed.
  func inputEnded(isClosed: Bool)
  /// Returns the error that users of the connection get for a failure of the channel.
  /// - Parameter hasBegun: whether the connection could be used before.
  func explain(_ error: any Error, hasBegun: Bool) -> BywayError
  /// The last call. `error` is the reason, unless the connection ended normally.
  func connectionEnded(_ error: BywayError?)
  /// The line under the link is gone, and the link waits for it.
  func linkInterrupted()
  /// After an interruption of the link its remote end was heard again.
  func linkResumed()
  /// Bytes have passed that ``ConnectionDriver/follow(_:)`` was called for.
  func linkPassed(_ passage: Passage)
  /// Reads are held back: nothing is received from the peer for now.
  func readHeldBack()
  /// The deadline of ``ConnectionDriver/watch(_:)`` has passed.
  func timePassed()
}

extension ConnectionOwner {
  func explain(_ error: any Error, hasBegun: Bool) -> BywayError {
    error as? BywayError
      ?? BywayError(
        .linkLost, hasBegun ? "The link failed." : "The link was closed before it could be used.", cause: error)
  }

  func linkInterrupted() {}
  func linkResumed() {}
  func linkPassed(_ passage: Passage) {}
  func timePassed() {}
  func readHeldBack() {}
}

/// Moves bytes between a channel and a ``ConnectionSession``, which makes all other decisions.
///
/// Each connection has one handler; exchanges add or remove none. Output is taken from the session once per turn of the loop, and only as
/// much as the channel takes, so that the next bytes are chosen as late as possible. Calls of the owner during an event never call it back
/// before they return.
final class ConnectionDriver: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum Phase {
    case new
    case open
    /// Our direction ends after everything is written.
    case endingOutput
    case outputEnded
    /// The channel closes when it has taken the session's output, or at that time.
    case closing(by: NIODeadline)
    /// The channel closes when its output is written, and takes nothing more from the session.
    case lastWrite
    /// The channel has been told to close now.
    case aborting
    case ended
  }

  /// Bytes taken from the session for one write, if the channel does not state its room.
  private static let transmitQuantum = 64 * 1024

  private let session: any ConnectionSession
  let eventLoop: any EventLoop
  let channel: any Channel
  /// Held until the connection has ended; a weak reference would make every retain of it slow.
  private var owner: (any ConnectionOwner)?
  private var context: ChannelHandlerContext?
  private var stream: StreamChannel?
  private var phase = Phase.new
  private var isTransmitScheduled = false
  private var isDelivering = false
  private var isReadOwed = false
  private var failure: BywayError?
  private let reads = BoundedReads()
  /// The owner's own deadline, in addition to the session's.
  private var ownersDeadline = NIODeadline.distantFuture
  private let timer: LazyTimer
  /// Holds reads back while the peer uses more than its share of scarce memory; `nil`: never.
  private let memory: MemoryAccount?
  private var pause: Scheduled<Void>?
  /// The time after which a read that was held back for memory is tried again.
  private static let pauseTime = TimeAmount.milliseconds(100)

  init(_ session: any ConnectionSession, on channel: any Channel, memory: MemoryAccount? = nil) {
    self.session = session
    self.memory = memory
    self.channel = channel
    eventLoop = channel.eventLoop
    timer = LazyTimer(on: eventLoop)
    timer.fired = { [unowned self] in timerFired() }
  }

  /// The statistics of the line under this connection; `nil` if there is none.
  var lineStatistics: LineStatistics? { stream?.lineStatistics }

  /// The interruption of the line underneath, which the connection waits for.
  var interruption: LineInterruption? { stream?.interruption }

  /// When the remote end began to send the latest bytes, if the line underneath measures it.
  var arrivalBegan: NIODeadline? { stream?.arrivalBegan }

  /// Requests a call of ``ConnectionOwner/linkPassed(_:)`` when these bytes have arrived at the remote end, if the line underneath measures
  /// it.
  func follow(_ bytes: Range<UInt64>) {
    stream?.follow(bytes)
  }

  /// The number of bytes given to the line underneath so far; 0 if there is none.
  var writtenBytes: UInt64 { stream?.written ?? 0 }

  /// No longer waits for an interrupted line, once the remote end has the connection's first `count` bytes.
  func forgoLine(after count: UInt64) {
    stream?.forgo(after: count)
  }

  /// Whether nothing more can begin on it.
  var isClosing: Bool {
    switch phase {
    case .new, .open: !channel.isActive
    case .endingOutput, .outputEnded, .closing, .lastWrite, .aborting, .ended: true
    }
  }

  var isEnded: Bool {
    if case .ended = phase { true } else { false }
  }

  // MARK: For the role

  /// Enters the channel's pipeline, and reads from then on. The owner gets all events, possibly including the end before this returns.
  func start(for owner: any ConnectionOwner) {
    self.owner = owner
    do {
      try channel.pipeline.syncOperations.addHandler(self)
      channel.startReading()
    } catch {
      note(owner.explain(error, hasBegun: false))
      channel.close(promise: nil)
      end()
    }
  }

  /// Sends the session's output at the end of this turn of the loop.
  func scheduleTransmit() {
    guard !isTransmitScheduled, !isEnded else { return }
    isTransmitScheduled = true
    eventLoop.assumeIsolated().execute { self.transmit() }
  }

  /// Sends the session's output now, where nothing more is about to follow.
  func transmit() {
    transmit(at: eventLoop.now)
  }

  func transmit(at now: NIODeadline) {
    isTransmitScheduled = false
    guard !isEnded else { return }
    push(at: now)
    deliver()
    settle()
  }

  /// Whether the next read waits for received bytes to be processed.
  var isReadHeldBack: Bool { isReadOwed || pause != nil }

  /// Continues reads that were held back, after received bytes were processed.
  func resumeReading() {
    guard isReadOwed, let context, session.releaseRead(at: eventLoop.now) else { return }
    isReadOwed = false
    reads.bound.bytes = session.readRoom
    context.read()
  }

  /// Notifies the owner at that time, which replaces an earlier one; `nil`: cancels it.
  func watch(_ deadline: NIODeadline?) {
    ownersDeadline = deadline ?? .distantFuture
    if !isEnded { armTimer() }
  }

  /// Whether the connection ends with an error, so that its end says nothing about the completeness of a message (RFC 9112 §8).
  var hasFailed: Bool { failure != nil }

  /// Stores the error for the owner at the connection's end, unless there is one already.
  func note(_ error: BywayError) {
    failure = failure ?? error
  }

  /// Closes the channel after the session's output is written.
  func close() {
    transmit()
    closeOnceWritten(within: .seconds(30))
  }

  /// Closes the channel now.
  func abort() {
    switch phase {
    case .aborting, .ended: break
    case .new, .open, .endingOutput, .outputEnded, .closing, .lastWrite:
      phase = .aborting
      channel.close(promise: nil)
    }
  }

  /// Ends a connection that is no longer usable: the owner is notified now, however long the channel takes to close.
  func fail(_ error: BywayError) {
    note(error)
    abort()
    end()
  }

  /// The same, and drops what the line has not carried yet: it is about to be sent over another link.
  func abort(_ error: BywayError) {
    stream?.abort()
    fail(error)
  }

  // MARK: ChannelDuplexHandler

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    phase = .open
    stream = context.channel as? StreamChannel
    reads.bound.bytes = session.readRoom
    // If the option cannot be set, the channel chooses the size of reads.
    if session.readRoom < .max { try? context.channel.syncOptions?.setOption(.recvAllocator, value: reads) }
    transmit()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    end()
    self.context = nil
    stream = nil
  }

  func read(context: ChannelHandlerContext) {
    if let memory, memory.isOverShare { return pauseReading() }
    if session.admitRead() {
      context.read()
    } else {
      isReadOwed = true
      owner?.readHeldBack()
      // A peer whose bytes are not read is not late.
      armTimer()
    }
  }

  private func pauseReading() {
    guard pause == nil else { return }
    owner?.readHeldBack()
    pause = eventLoop.assumeIsolated().scheduleTask(in: Self.pauseTime) { [self] in
      pause = nil
      if !isEnded, let context { read(context: context) }
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isEnded else { return }
    session.receive(unwrapInboundIn(data), at: eventLoop.now)
    deliver()
    reads.bound.bytes = session.readRoom
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if session.wantsTransmit { scheduleTransmit() }
    settle()
    // Otherwise the channel would ask for the next read from the other end of the pipeline.
    if !isEnded { read(context: context) }
    // No handler follows this one, so the event is not passed on.
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { transmit() }
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? ChannelEvent, event == .inputClosed { inputEnded(isClosed: false) }
    switch event as? StreamEvent {
    case .interrupted: owner?.linkInterrupted()
    case .resumed: owner?.linkResumed()
    case .passed(let passage): owner?.linkPassed(passage)
    case nil: break
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let owner { note(owner.explain(error, hasBegun: true)) }
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    inputEnded(isClosed: true)
    end()
    context.fireChannelInactive()
  }

  private func inputEnded(isClosed: Bool) {
    guard !isEnded, let owner else { return }
    owner.inputEnded(isClosed: isClosed)
    deliver()
    settle()
  }

  // MARK: The pump

  private func push(at now: NIODeadline) {
    guard let context else { return }
    switch phase {
    case .open, .endingOutput, .closing: break
    case .new, .outputEnded, .lastWrite, .aborting, .ended: return
    }
    var owesFlush = false
    while session.wantsTransmit, channel.isWritable {
      let room = stream?.room ?? Self.transmitQuantum
      guard room > 0, let bytes = session.nextTransmit(maximum: room, at: now) else { break }
      owesFlush = session.wantsTransmit
      if owesFlush {
        context.write(wrapOutboundOut(bytes), promise: nil)
      } else {
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
      }
    }
    if owesFlush { context.flush() }
  }

  private func deliver() {
    guard !isDelivering else { return }
    isDelivering = true
    owner?.deliver()
    isDelivering = false
  }

  /// Acts on the session's state after each step.
  private func settle() {
    guard !isEnded, !isDelivering else { return }
    resumeReading()
    follow(session.ending)
    if !isEnded { armTimer() }
  }

  private func end() {
    guard !isEnded else { return }
    phase = .ended
    timer.cancel()
    pause.take()?.cancel()
    owner.take()?.connectionEnded(failure)
  }

  // MARK: Ending

  private func follow(_ ending: ConnectionEnding?) {
    switch (ending, phase) {
    case (nil, .closing(let end)):
      if eventLoop.now >= end { abort() }
    case (nil, _), (_, .new), (_, .lastWrite), (_, .aborting), (_, .ended):
      break
    case (.abort(let byReset), _):
      // SO_LINGER with a time of zero makes the close a reset (RFC 9293 §3.10.4).
      if byReset { _ = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)) }
      abort()
    case (.close, .closing(let end)):
      finish(by: end)
    case (.close(let patience), _):
      finish(by: eventLoop.now + patience)
    case (.endOutput, .open):
      if !session.wantsTransmit { endOutput() }
    case (.endOutput, .endingOutput), (.endOutput, .outputEnded), (.endOutput, .closing):
      break
    }
  }

  /// The rest of the session's output follows as the channel takes it.
  private func finish(by end: NIODeadline) {
    let now = eventLoop.now
    push(at: now)
    if now >= end {
      abort()
    } else if session.wantsTransmit, channel.isActive, !channel.isWritable {
      phase = .closing(by: end)
    } else {
      closeOnceWritten(within: end - now)
    }
  }

  private func closeOnceWritten(within patience: TimeAmount) {
    switch phase {
    case .open, .endingOutput, .outputEnded, .closing:
      phase = .lastWrite
      channel.closeOnceWritten(within: patience)
    case .new, .lastWrite, .aborting, .ended: break
    }
  }

  private func endOutput() {
    phase = .endingOutput
    channel.writeAndFlush(ByteBuffer()).assumeIsolated().whenComplete { [self] _ in
      guard case .endingOutput = phase else { return }
      phase = .outputEnded
      channel.close(mode: .output, promise: nil)
      session.outputEnded(at: eventLoop.now)
      deliver()
      settle()
    }
  }

  // MARK: Time

  private func armTimer() {
    var earliest = min(session.nextDeadline ?? .distantFuture, ownersDeadline)
    if case .closing(let end) = phase { earliest = min(earliest, end) }
    timer.set(earliest)
  }

  private func timerFired() {
    guard !isEnded else { return }
    let now = eventLoop.now
    if let deadline = session.nextDeadline, deadline <= now { session.handleTimeout(at: now) }
    if ownersDeadline <= now {
      ownersDeadline = .distantFuture
      owner?.timePassed()
    }
    transmit(at: now)
  }
}
