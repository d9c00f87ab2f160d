package import BywayLineLayer
package import Logging
package import NIOCore

/// Moves bytes between a line, which may disconnect and reconnect, a ``LineLayer``, which makes all decisions, and the channel of the
/// session over it.
///
/// Lives on one event loop.
package final class LineDriver: StreamCarrier {
  /// The owner of sessions and lines. Called on the event loop.
  package protocol Delegate: AnyObject {
    /// A session can be used. The channel is not active yet.
    func sessionOpened(_ channel: StreamChannel)
    /// - Returns: when the session's channel may be closed after a normal end. Where that includes the release of the line, a process that
    ///   exits earlier leaves the port with its changed settings.
    func sessionEnded(_ end: SessionEnd) -> EventLoopFuture<Void>
    /// The line's channel has closed. Another one may be attached.
    func lineLost()
    /// Why there is no other line yet, as far as that is known.
    var unavailableReason: String? { get }
  }

  /// The maximum number of bytes given to a line that is not paced before it has taken them.
  private static let unpacedBurst = 64 * 1024

  package let address: LinkAddress
  package let eventLoop: any EventLoop
  package var delegate: (any Delegate)?
  package private(set) var layer: LineLayer
  /// `nil` after a frame was received.
  private(set) var unframed: UnframedOutput? = UnframedOutput()
  private let logger: Logger
  /// Frames received in earlier sessions.
  private let framesBefore: UInt64
  private var line: (any Channel)?
  private var session: StreamChannel?
  private var output: [UInt8] = []
  /// Whether the line has not taken the last write yet.
  private var isWriting = false
  private var pumpState = PumpState.resting
  private lazy var timer = LazyTimer(on: eventLoop) { [unowned self] in timerFired() }

  package init(_ layer: LineLayer, address: LinkAddress, on eventLoop: any EventLoop, logger: Logger) {
    self.layer = layer
    framesBefore = layer.statistics.receivedFrames
    self.address = address
    self.eventLoop = eventLoop
    self.logger = logger
  }

  private var now: UInt64 { eventLoop.now.uptimeNanoseconds }

  // MARK: The line

  /// Continues with this channel, which replaces the current one.
  /// - Throws: if it has closed already; then nothing has changed.
  package func attach(_ channel: any Channel) throws {
    try channel.pipeline.syncOperations.addHandler(LineHandler(self))
    if let line { dropped(line) }
    line = channel
    isWriting = false
    layer.lineRestored(at: now)
    channel.startReading()
    pump()
  }

  /// Releases the line.
  /// - Returns: when its channel has closed.
  @discardableResult
  package func detach() -> EventLoopFuture<Void> {
    guard let line else { return eventLoop.makeSucceededVoidFuture() }
    dropped(line)
    return line.closeFuture
  }

  private func dropped(_ channel: any Channel) {
    lost()
    channel.close(promise: nil)
  }

  private func lost() {
    line = nil
    layer.lineLost(at: now)
  }

  func received(_ bytes: ByteBuffer, on channel: any Channel) {
    guard line === channel else { return }
    bytes.withUnsafeReadableBytes { bytes in
      layer.receive(bytes, at: now)
      if unframed != nil { keepUnframed(bytes) }
    }
  }

  private func keepUnframed(_ bytes: UnsafeRawBufferPointer) {
    if layer.statistics.receivedFrames > framesBefore { unframed = nil } else { unframed?.add(bytes) }
  }

  func failed(_ error: any Error, on channel: any Channel) {
    if line === channel { logger.info("Line failed", metadata: ["reason": "\(error)"]) }
  }

  func detached(_ channel: any Channel) {
    guard line === channel else { return }
    lost()
    let message: Logger.Message = layer.hasSession ? "Line lost; the session waits for it" : "Line lost"
    logger.notice(message, metadata: ["link": "\(address)"])
    pump()
    delegate?.lineLost()
  }

  // MARK: The session

  /// - Parameter streams: the streams that this end takes, if the listener takes some too.
  package func open(session id: UInt32, streams: StreamOffer = .none) {
    layer.open(session: id, streams: streams, at: now)
    pump()
  }

  /// Aborts the session, if there is one.
  package func abort() {
    layer.abort(at: now)
    pump()
  }

  // MARK: StreamCarrier

  package var room: Int { isWriting ? 0 : layer.room(at: now) }
  package var backlog: Int { layer.pendingBytes }
  package var lineStatistics: LineStatistics? { layer.statistics }
  package var interruption: LineInterruption? {
    layer.interruption.map {
      LineInterruption(since: .uptimeNanoseconds($0.since), cause(of: $0))
    }
  }

  private func cause(of interruption: Interruption) -> LineInterruption.Cause {
    if line == nil { return .lost(reason: delegate?.unavailableReason) }
    return if case .silent = interruption { .silent } else { .lost(reason: nil) }
  }

  package var arrivalBegan: NIODeadline? { layer.latestArrivalBegan.map { .uptimeNanoseconds($0) } }

  package func follow(_ bytes: Range<UInt64>) {
    layer.follow(bytes)
  }

  package func forgo(after count: UInt64) {
    layer.forgo(after: count)
    pump()
  }

  package func write(_ bytes: ByteBuffer) {
    bytes.withUnsafeReadableBytes { layer.send($0) }
  }

  package func flush() {
    pump()
  }

  package func consumed(_ count: Int) {
    layer.consumed(count, at: now)
    pump()
  }

  package func closeOutput() {
    layer.finish()
    pump()
  }

  package func close() {
    layer.close(at: now)
    pump()
  }

  // MARK: The pump

  /// Processes all that is due: passes events up, sends frames, and asks the session for more.
  func pump() {
    guard pumpState.request() else { return }
    while pumpState.nextRound() {
      takeEvents()
      // The session comes first: its data takes an acknowledgement along.
      session?.drained()
      if transmit() { pumpState = .due }
    }
    armTimer()
  }

  private func takeEvents() {
    while let event = layer.nextEvent() {
      switch event {
      case .ready: opened()
      case .confirmed: logger.debug("Session confirmed", metadata: ["link": "\(address)"])
      case .received(let bytes): session?.deliver(ByteBuffer(bytes: bytes))
      case .passed(let passage): session?.passed(passage)
      case .finished: session?.inputEnded()
      case .interrupted(let interruption): interrupted(interruption)
      case .resumed: resumed()
      case .ended(let end): ended(end)
      }
    }
  }

  /// Returns `false` if there was nothing to send, or the line takes nothing.
  private func transmit() -> Bool {
    guard let line, !isWriting else { return false }
    let now = now
    while output.count < Self.unpacedBurst, layer.nextTransmit(at: now, into: &output) {}
    guard !output.isEmpty else { return false }
    isWriting = true
    let bytes = ByteBuffer(bytes: output)
    output.removeAll(keepingCapacity: true)
    line.writeAndFlush(bytes).assumeIsolated().whenComplete { _ in
      guard self.line === line else { return }
      self.isWriting = false
      self.pump()
    }
    return true
  }

  private func interrupted(_ interruption: Interruption) {
    if case .silent(let since) = interruption {
      let seconds = (now - since) / 1_000_000_000
      logger.notice(
        "Line silent; the session waits for it",
        metadata: ["link": "\(address)", "last heard": "\(seconds) s ago"])
    }
    session?.interrupted()
  }

  private func resumed() {
    logger.notice("Line is heard again", metadata: ["link": "\(address)"])
    session?.resumed()
  }

  private func opened() {
    let channel = StreamChannel(on: eventLoop, carrier: self, parent: line)
    session = channel
    delegate?.sessionOpened(channel)
  }

  private func ended(_ end: SessionEnd) {
    logger.info(
      "Session over",
      metadata: ["link": "\(address)", "reason": "\(end)", "line": "\(layer.statistics.facts.joined(separator: "; "))"])
    let channel = session.take()
    let released = delegate?.sessionEnded(end) ?? eventLoop.makeSucceededVoidFuture()
    guard end == .finished || end == .abortedHere else { channel?.ended(BywayError(end, on: address)); return }
    released.assumeIsolated().whenComplete { _ in channel?.ended(nil) }
  }

  // MARK: Time

  private func armTimer() {
    // While the line takes nothing, due output must wait for it.
    let earliest = isWriting ? now + 5_000_000 : 0
    timer.set(layer.nextDeadline.map { .uptimeNanoseconds(max($0, earliest)) })
  }

  private func timerFired() {
    layer.handleTimeout(at: now)
    pump()
  }
}
