import BywayHTTPWire
package import BywayLineLayer
package import NIOCore
import Synchronization

/// The carrier of a ``StreamChannel``'s bytes. Lives on the channel's event loop.
package protocol StreamCarrier: AnyObject {
  /// The number of bytes that it can use now; 0 while the stream is not writable.
  var room: Int { get }
  /// The number of bytes that were taken and have not been sent yet.
  var backlog: Int { get }
  /// The statistics of the line underneath; `nil` if there is none.
  var lineStatistics: LineStatistics? { get }
  /// The interruption of the line underneath, which the stream waits for; `nil` if there is none. ``StreamChannel/resumed()`` is called
  /// when the remote end is heard again.
  var interruption: LineInterruption? { get }
  /// When the remote end began to send the latest delivered bytes; `nil` if that is unknown.
  var arrivalBegan: NIODeadline? { get }
  /// The number of streams that the remote end takes at once on the same line; `nil` if that is unlimited.
  var streamLimit: Int? { get }
  /// Requests a call of ``StreamChannel/passed(_:)`` when these written bytes have arrived. Not every carrier supports it.
  func follow(_ bytes: Range<UInt64>)
  func write(_ bytes: ByteBuffer)
  /// Lets written bytes leave.
  func flush()
  /// The pipeline has taken that many of the delivered bytes.
  func consumed(_ count: Int)
  /// Ends the stream at once whenever the line underneath is interrupted, unless the remote end lacks some of its first `count` bytes.
  func forgo(after count: UInt64)
  func closeOutput()
  /// Ends the stream normally, followed by ``StreamChannel/ended(_:)``.
  func close()
  /// Ends the stream now, and drops written bytes that have not been sent.
  func abort()
}

extension StreamCarrier {
  package var interruption: LineInterruption? { nil }
  package var arrivalBegan: NIODeadline? { nil }
  package var streamLimit: Int? { nil }
  package func follow(_ bytes: Range<UInt64>) {}
  package func forgo(after count: UInt64) {}
  package func abort() { close() }
}

/// The user inbound events of a ``StreamChannel``.
package enum StreamEvent: Sendable {
  /// The line underneath is gone or silent, and the stream waits for it.
  case interrupted
  /// After an interruption the remote end was heard again.
  case resumed
  /// Bytes that ``StreamChannel/follow(_:)`` was called for have arrived.
  case passed(Passage)
}

/// A NIO channel without a descriptor: its bytes travel inside another stream, for example in a session over a line.
///
/// It reports how much it can take now (``room``), so that the next bytes can be chosen as late as possible.
package final class StreamChannel: Channel, @unchecked Sendable {
  // Sendable: properties for other threads are atomic or constant; all others are used on the event loop only.
  package let allocator = ByteBufferAllocator()
  package let eventLoop: any EventLoop
  package let parent: (any Channel)?
  package let localAddress: SocketAddress? = nil
  package let remoteAddress: SocketAddress?
  package var closeFuture: EventLoopFuture<Void> { closePromise.futureResult }
  package var isActive: Bool { phase.load(ordering: .relaxed) == Phase.active }
  package var isWritable: Bool { writable.load(ordering: .relaxed) }
  /// Created in `init`, because it needs `self`.
  package private(set) lazy var pipeline = ChannelPipeline(channel: self)

  private enum Phase {
    static let new: UInt8 = 0
    static let active: UInt8 = 1
    static let closed: UInt8 = 2
  }

  /// The state of the remote end's direction.
  private enum Input {
    case open
    /// The end waits until the bytes before it were read; with an error unless it is a normal one.
    case ended((any Error)?)
    /// The pipeline knows the end.
    case reported

    var isOpen: Bool {
      if case .open = self { true } else { false }
    }

    var isUnreported: Bool {
      if case .ended = self { true } else { false }
    }
  }

  /// The directions that the owner has closed.
  private enum Closing {
    case none, output, both
  }

  private let phase = Atomic<UInt8>(Phase.new)
  private let writable = Atomic<Bool>(true)
  private let closePromise: EventLoopPromise<Void>
  private var carrier: (any StreamCarrier)?

  private var autoRead = true
  private var allowsRemoteHalfClosure = false
  private var isReadWanted = false
  private var inbound = CircularBuffer<ByteBuffer>()
  private var input = Input.open
  private var closing = Closing.none
  private var writtenBytes = 0
  private var unwritten = CircularBuffer<(end: Int, promise: EventLoopPromise<Void>)>()

  /// - Parameter remoteAddress: the address of the remote end, for handlers that ask.
  package init(
    on eventLoop: any EventLoop, carrier: any StreamCarrier, parent: (any Channel)? = nil,
    remoteAddress: SocketAddress? = nil
  ) {
    self.eventLoop = eventLoop
    self.carrier = carrier
    self.parent = parent
    self.remoteAddress = remoteAddress
    closePromise = eventLoop.makePromise()
    _ = pipeline
  }

  /// The number of bytes that should be written now, if available. On the event loop.
  package var room: Int {
    let room = carrier?.room ?? 0
    if room == 0 { writable.store(false, ordering: .relaxed) }
    return room
  }

  /// The statistics of the line underneath; `nil` if there is none, and after the end of the stream. On the event loop.
  package var lineStatistics: LineStatistics? { carrier?.lineStatistics }

  /// The interruption of the line underneath, which the stream waits for. On the event loop.
  package var interruption: LineInterruption? { carrier?.interruption }

  /// When the remote end began to send the bytes read last, if the line underneath measures it. On the event loop.
  package var arrivalBegan: NIODeadline? { carrier?.arrivalBegan }

  /// The number of streams that the remote end takes at once on the same line; `nil` if that is unlimited. On the event loop.
  package var streamLimit: Int? { carrier?.streamLimit }

  /// Requests ``StreamEvent/passed(_:)`` when these bytes have arrived at the remote end, if the line underneath measures it. On the event
  /// loop.
  /// - Parameter bytes: a range of the bytes written so far, counted from the first.
  package func follow(_ bytes: Range<UInt64>) {
    carrier?.follow(bytes)
  }

  /// The number of bytes written so far. On the event loop.
  package var written: UInt64 { UInt64(writtenBytes) }

  /// Ends the stream at once whenever the line underneath is interrupted, unless the remote end lacks some of its first bytes. On the event
  /// loop.
  /// - Parameter count: the number of those bytes.
  package func forgo(after count: UInt64) {
    carrier?.forgo(after: count)
  }

  /// Ends the stream now, even if it is being closed, and drops written bytes that have not been sent. On the event loop.
  package func abort() {
    closing = .both
    inbound.removeAll()
    carrier?.abort()
  }

  // MARK: For the carrier

  package func activate() {
    guard phase.load(ordering: .relaxed) == Phase.new else { return }
    phase.store(Phase.active, ordering: .relaxed)
    pipeline.fireChannelRegistered()
    pipeline.fireChannelActive()
    readIfWanted()
  }

  /// Activates the channel, and gives it to its owner.
  /// - Parameter abort: ends the carrier if the channel cannot be prepared. No owner gets it then, and the medium would stay in use.
  package func handOver(to owner: EventLoopPromise<any Channel>, orElse abort: @escaping () -> Void) {
    prepareForHandover().assumeIsolated().whenComplete { result in
      if case .failure(let error) = result {
        abort()
        return owner.fail(error)
      }
      self.activate()
      owner.succeed(self)
    }
  }

  package func deliver(_ bytes: ByteBuffer) {
    guard isActive, closing != .both else { return consumedUnread(bytes.readableBytes) }
    inbound.keep(bytes)
    passOn()
  }

  package func interrupted() {
    pipeline.fireUserInboundEventTriggered(StreamEvent.interrupted)
  }

  package func passed(_ passage: Passage) {
    pipeline.fireUserInboundEventTriggered(StreamEvent.passed(passage))
  }

  package func resumed() {
    pipeline.fireUserInboundEventTriggered(StreamEvent.resumed)
  }

  package func inputEnded() {
    if input.isOpen { input = .ended(nil) }
    passOn()
  }

  /// Completes writes and notifies the pipeline, after more has been sent or the line is ready for more.
  package func drained() {
    guard let carrier else { return }
    let left = writtenBytes - carrier.backlog
    while let first = unwritten.first, first.end <= left { unwritten.removeFirst().promise.succeed() }
    setWritable(carrier.room > 0)
  }

  /// Ends the stream; with `error` unless it ended normally.
  package func ended(_ error: (any Error)?) {
    guard carrier != nil else { return }
    carrier = nil
    writable.store(false, ordering: .relaxed)
    while let write = unwritten.popFirst() { write.promise.fail(error ?? ChannelError.ioOnClosedChannel) }
    // As with a socket, bytes before a normal end can still be read.
    if error == nil, isActive, closing != .both, input.isUnreported { return }
    shut(error)
  }

  /// Ends the stream with an error that is reported only after all bytes before it were read.
  package func endedOnceRead(_ error: any Error) {
    guard carrier != nil, isActive, closing != .both else { return ended(error) }
    if case .reported = input { return ended(error) }
    input = .ended(error)
    ended(nil)
    passOn()
  }

  private func shut(_ error: (any Error)?) {
    let wasActive = isActive
    if wasActive, let error, closing != .both { pipeline.fireErrorCaught(error) }
    guard phase.exchange(Phase.closed, ordering: .relaxed) != Phase.closed else { return }
    // Handlers may close, and carriers may end, in the middle of a read.
    eventLoop.assumeIsolated().execute {
      if wasActive { self.pipeline.fireChannelInactive() }
      self.pipeline.fireChannelUnregistered()
      self.closePromise.succeed()
      self.inbound.removeAll()
      self.removeHandlers(pipeline: self.pipeline)
    }
  }

  // MARK: Reading

  private func passOn() {
    guard isReadWanted, isActive, closing != .both else { return }
    guard !inbound.isEmpty || input.isUnreported else { return }
    isReadWanted = false
    var count = 0
    while let bytes = inbound.popFirst() {
      count += bytes.readableBytes
      pipeline.fireChannelRead(bytes)
    }
    if count > 0 { carrier?.consumed(count) }
    pipeline.fireChannelReadComplete()
    if case .ended(let failure) = input, inbound.isEmpty {
      input = .reported
      if let failure { return shut(failure) }
      if allowsRemoteHalfClosure {
        pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
      } else {
        close0(error: ChannelError.eof, mode: .all, promise: nil)
      }
      if carrier == nil { shut(nil) }
    }
    readIfWanted()
  }

  private func readIfWanted() {
    if autoRead, isActive { pipeline.read() }
  }

  private func consumedUnread(_ count: Int) {
    if count > 0 { carrier?.consumed(count) }
  }

  private func setWritable(_ isWritable: Bool) {
    guard isActive, writable.exchange(isWritable, ordering: .relaxed) != isWritable else { return }
    pipeline.fireChannelWritabilityChanged()
  }
}

// MARK: - Options

extension StreamChannel {
  package func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
    guard eventLoop.inEventLoop else { return eventLoop.submit { self.set(option, value) } }
    set(option, value)
    return eventLoop.makeSucceededVoidFuture()
  }

  package func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
    eventLoop.submit { try self.get(option) }
  }

  package var syncOptions: (any NIOSynchronousChannelOptions)? { Options(channel: self) }

  private struct Options: NIOSynchronousChannelOptions {
    let channel: StreamChannel

    func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) throws { channel.set(option, value) }
    func getOption<Option: ChannelOption>(_ option: Option) throws -> Option.Value { try channel.get(option) }
  }

  /// Options of sockets have no effect here and are accepted, so that owners need not distinguish channels.
  private func set<Option: ChannelOption>(_ option: Option, _ value: Option.Value) {
    switch option {
    case is ChannelOptions.Types.AutoReadOption:
      let wasOn = autoRead
      autoRead = value as? Bool ?? autoRead
      if autoRead, !wasOn { readIfWanted() }
    case is ChannelOptions.Types.AllowRemoteHalfClosureOption:
      allowsRemoteHalfClosure = value as? Bool ?? allowsRemoteHalfClosure
    default:
      break
    }
  }

  private func get<Option: ChannelOption>(_ option: Option) throws -> Option.Value {
    let value: Any? =
      switch option {
      case is ChannelOptions.Types.AutoReadOption: autoRead
      case is ChannelOptions.Types.AllowRemoteHalfClosureOption: allowsRemoteHalfClosure
      default: nil
      }
    guard let value = value as? Option.Value else { throw ChannelError.operationUnsupported }
    return value
  }
}

// MARK: - ChannelCore

extension StreamChannel: ChannelCore {
  package var _channelCore: any ChannelCore { self }

  package func localAddress0() throws -> SocketAddress { throw ChannelError.operationUnsupported }

  package func remoteAddress0() throws -> SocketAddress {
    guard let remoteAddress else { throw ChannelError.operationUnsupported }
    return remoteAddress
  }

  package func register0(promise: EventLoopPromise<Void>?) { promise?.succeed() }
  package func registerAlreadyConfigured0(promise: EventLoopPromise<Void>?) { promise?.succeed() }

  package func bind0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
    promise?.fail(ChannelError.operationUnsupported)
  }

  package func connect0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
    promise?.fail(ChannelError.operationUnsupported)
  }

  package func write0(_ data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard let carrier, isActive, closing == .none else {
      promise?.fail(closing == .none ? ChannelError.ioOnClosedChannel : ChannelError.outputClosed)
      return
    }
    guard let bytes = tryUnwrapData(data, as: ByteBuffer.self) else {
      promise?.fail(ChannelError.operationUnsupported)
      return
    }
    writtenBytes += bytes.readableBytes
    carrier.write(bytes)
    if let promise { unwritten.append((writtenBytes, promise)) }
    _ = room
  }

  package func flush0() {
    carrier?.flush()
    drained()
  }

  package func read0() {
    guard isActive, !isReadWanted else { return }
    isReadWanted = true
    // Not within a read: a handler that reads in its read would otherwise recurse for each delivery.
    if !inbound.isEmpty || !input.isOpen { eventLoop.assumeIsolated().execute { self.passOn() } }
  }

  package func close0(error: any Error, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard let carrier else {
      if phase.load(ordering: .relaxed) == Phase.closed {
        promise?.fail(ChannelError.alreadyClosed)
      } else {
        // The stream had ended already, but was not read to its end.
        if let promise { closePromise.futureResult.cascade(to: promise) }
        shut(nil)
      }
      return
    }
    switch mode {
    case .input:
      promise?.fail(ChannelError.operationUnsupported)
    case .output:
      if closing == .none { closing = .output }
      carrier.closeOutput()
      promise?.succeed()
    case .all:
      if let promise { closePromise.futureResult.cascade(to: promise) }
      guard closing != .both else { return }
      closing = .both
      let unread = inbound.reduce(0) { $0 + $1.readableBytes }
      inbound.removeAll()
      consumedUnread(unread)
      carrier.close()
    }
  }

  package func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) {
    promise?.fail(ChannelError.operationUnsupported)
  }

  package func channelRead0(_ data: NIOAny) {}
  package func errorCaught0(error: any Error) {}
}
