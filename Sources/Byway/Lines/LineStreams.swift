import BywayLineLayer
import NIOCore

/// The streams of a line's session as channels: the client's end.
///
/// A handler of the session's channel. Lives on its event loop.
final class LineStreams: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private enum Phase {
    case open
    /// The session ends, and no stream can begin.
    case closing
    case over
  }

  /// Room in which each piece of control has its place.
  private static let leastRoom = 64

  let session: StreamChannel
  private let address: LinkAddress
  private var multiplexer: Multiplexer
  /// The streams in use here, by number. Their remote end may still use others.
  private var streams: [LineStream?]
  private var phase = Phase.open
  private var failure: BywayError?
  private var pumpState = PumpState.resting
  /// Called when a stream has become free, and when the session is over.
  var changed: (() -> Void)?

  init(_ agreement: StreamAgreement, on session: StreamChannel, to address: LinkAddress) {
    self.session = session
    self.address = address
    multiplexer = Multiplexer(.client, agreement)
    streams = Array(repeating: nil, count: agreement.count)
  }

  /// The number of streams that the remote end takes at once.
  var count: Int { streams.count }
  var isOver: Bool { if case .over = phase { true } else { false } }

  func start() throws {
    try session.pipeline.syncOperations.addHandler(self)
    session.startReading()
  }

  /// Begins a stream.
  /// - Returns: its channel, which does not read yet; `nil` if none is free.
  func open() -> StreamChannel? {
    guard case .open = phase, let number = multiplexer.open() else { return nil }
    let stream = LineStream(number, of: self)
    streams[number] = stream
    let channel = stream.channel
    channel.prepareForHandover().whenFailure { _ in channel.close(promise: nil) }
    channel.activate()
    return channel
  }

  /// Closes the session if no stream is in use.
  func closeIfUnused() {
    guard case .open = phase, streams.allSatisfy({ $0 == nil }) else { return }
    phase = .closing
    session.close(promise: nil)
  }

  // MARK: For a stream

  func room(of number: Int) -> Int {
    min(multiplexer.room(of: number), max(session.room - 2, 0))
  }

  func backlog(of number: Int) -> Int { multiplexer.backlog(of: number) }

  func write(_ bytes: ByteBuffer, to number: Int) {
    bytes.withUnsafeReadableBytes { multiplexer.write($0, to: number) }
  }

  func consumed(_ count: Int, of number: Int) {
    multiplexer.consumed(count, of: number)
    pump()
  }

  func finish(_ number: Int) {
    multiplexer.finish(number)
    pump()
  }

  /// Ends a stream that is not needed any more.
  func leave(_ stream: LineStream, aborts: Bool) {
    guard streams[stream.number] === stream else { return }
    streams[stream.number] = nil
    if aborts || !multiplexer.hasEnded(stream.number) {
      multiplexer.abort(stream.number)
    } else {
      multiplexer.finish(stream.number)
    }
    pump()
    closeIfUnused()
    // The line is released with the session: a process that exits earlier leaves the port with its changed settings.
    guard case .open = phase else {
      return session.closeFuture.assumeIsolated().whenComplete { _ in stream.channel.ended(nil) }
    }
    stream.channel.ended(nil)
  }

  // MARK: ChannelInboundHandler

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    unwrapInboundIn(data).withUnsafeReadableBytes { multiplexer.receive($0) }
    pump()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { pump() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event as? StreamEvent {
    case .interrupted: for stream in streams { stream?.channel.interrupted() }
    case .resumed: for stream in streams { stream?.channel.resumed() }
    case .passed, nil: break
    }
    if let event = event as? ChannelEvent, event == .inputClosed {
      endAll(BywayError(.linkLost, "The far end of \(address) has closed the link."), onceRead: true)
      session.close(promise: nil)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    failure = error as? BywayError ?? BywayError(.linkLost, "\(address) has failed.", cause: error)
  }

  func channelInactive(context: ChannelHandlerContext) {
    endAll(failure ?? BywayError(.linkLost, "\(address) was closed."), onceRead: true)
    phase = .over
    let changed = changed.take()
    changed?()
  }

  private func endAll(_ error: BywayError, onceRead: Bool) {
    if case .open = phase { phase = .closing }
    let ending = streams
    streams = Array(repeating: nil, count: count)
    for case let stream? in ending {
      if onceRead { stream.channel.endedOnceRead(error) } else { stream.channel.ended(error) }
    }
  }

  // MARK: The pump

  /// Passes events up, sends pieces, and asks the streams for more.
  func pump() {
    guard pumpState.request() else { return }
    while pumpState.nextRound() {
      while let event = multiplexer.nextEvent() { handle(event) }
      for stream in streams { stream?.channel.drained() }
      if transmit() { pumpState = .due }
    }
  }

  private func transmit() -> Bool {
    let room = session.isActive ? session.room : 0
    var output: [UInt8] = []
    guard room > 0, multiplexer.nextOutput(upTo: max(room, Self.leastRoom), into: &output) else { return false }
    session.writeAndFlush(ByteBuffer(bytes: output), promise: nil)
    return true
  }

  private func handle(_ event: Multiplexer.Event) {
    switch event {
    case .opened: break
    case .received(let number, let bytes): streams[number]?.channel.deliver(ByteBuffer(bytes: bytes))
    case .ended(let number): streams[number]?.channel.inputEnded()
    case .aborted(let number):
      let stream = streams[number].take()
      stream?.channel.endedOnceRead(
        BywayError(.originLost, "The far end of \(address) has cut the connection off."))
      closeIfUnused()
    case .freed: changed?()
    case .violated(let reason):
      let error = BywayError(
        .protocolViolation, "The far end of \(address) \(reason): use the same version of byway at both ends.")
      failure = error
      endAll(error, onceRead: false)
      session.abort()
    }
  }
}
