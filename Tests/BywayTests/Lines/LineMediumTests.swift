import Glibc
import NIOCore
import NIOPosix
import TestTools
import Testing
import TransportTestSupport

@testable import Byway

@Suite("Medium of a line") struct LineMediumTests {
  private let log = LogRecord()

  @Test("a medium carries bytes in both directions, and keeps a frame in one message")
  func carries() async throws {
    let far = try FarEnd()
    let channel = try await open(far)
    try await channel.writeAndFlush(ByteBuffer(bytes: [1, 2, 0, 3, 0]))
    #expect(try far.receive() == [1, 2, 0, 3, 0])
    try far.send([9, 8])
    try far.send([7])
    #expect(try await Array(buffer: channel.received(count: 3).bytes) == [9, 8, 7])
    try await channel.close()
  }

  @Test("messages of a medium are cut at their limit, at the end of a frame where possible")
  func limit() async throws {
    let far = try FarEnd()
    let channel = try await open(far, limit: 8)
    try await channel.writeAndFlush(ByteBuffer(bytes: [1, 2, 3, 4, 0, 5, 6, 7, 8, 0]))
    #expect(try far.receive() == [1, 2, 3, 4, 0])
    #expect(try far.receive() == [5, 6, 7, 8, 0])
    try await channel.close()
  }

  @Test("a medium's error about one message loses that message only")
  func loss() async throws {
    let far = try FarEnd(buffer: 4096)
    // The kernel refuses a message that is larger than the buffer of its socket.
    let channel = try await open(far, limit: 20_000, loss: [EMSGSIZE])
    try await channel.writeAndFlush(ByteBuffer(bytes: [UInt8](repeating: 1, count: 15_000) + [0]))
    #expect(try await eventually { log.all.contains { $0.contains("Message lost") } })
    try await channel.writeAndFlush(ByteBuffer(bytes: [2, 0]))
    // The first message may have left in two parts, of which only the larger one was lost.
    var received = try far.receive()
    while received.suffix(2) != [2, 0] { received += try far.receive() }
    #expect(received.count < 15_000)
    try await channel.close()
  }

  @Test("another error of a medium ends its channel")
  func failure() async throws {
    let far = try FarEnd(buffer: 4096)
    let channel = try await open(far, limit: 20_000, loss: [])
    channel.writeAndFlush(ByteBuffer(bytes: [UInt8](repeating: 1, count: 15_000)), promise: nil)
    channel.read()
    try await ended(channel)
    #expect(log.all.contains { $0.contains("Line ends") })
  }

  @Test("the end of a medium closes its channel after the last bytes", arguments: [[], [5, 6, 7]] as [[UInt8]])
  func endOfMedium(_ bytes: [UInt8]) async throws {
    let far = try FarEnd()
    let channel = try await open(far)
    let received = try await channel.receiving()
    if !bytes.isEmpty { try far.send(bytes) }
    far.close()
    #expect(try await Array(buffer: received.get().bytes) == bytes)
    try? await channel.close()
  }

  @Test("closing a medium's channel sends the last bytes, and completes when the medium is closed")
  func closing() async throws {
    let far = try FarEnd()
    let channel = try await open(far, limit: 8)
    let frames = (1...50).map { [UInt8](repeating: $0, count: 7) + [0] }
    channel.writeAndFlush(ByteBuffer(bytes: frames.flatMap(\.self)), promise: nil)
    try await channel.close()
    for frame in frames { #expect(try far.receive(waiting: false) == frame) }
    #expect(try far.receive(waiting: false) == [])
  }

  @Test("closing a medium's channel does not wait long for a medium that takes nothing")
  func closingStuck() async throws {
    let far = try FarEnd(buffer: 4096)
    let channel = try await open(far)
    channel.writeAndFlush(ByteBuffer(repeating: 1, count: 1 << 20), promise: nil)
    #expect(try await eventually { try far.isFull })
    let closes = (0..<3).map { _ in channel.eventLoop.makePromise(of: Void.self) }
    for promise in closes { channel.close(promise: promise) }
    try await ended(channel)
    for promise in closes { try await promise.futureResult.get() }
  }

  @Test("a medium whose close blocks in the kernel is interrupted")
  func blockedClose() async throws {
    let far = try LingeringEnd(seconds: 60)
    let thread = MediumThread()
    let channel = try await openFull(far, thread)
    channel.close(promise: nil)
    let isOver = try await eventually(within: .seconds(30)) { thread.isOver }
    #expect(isOver)
  }

  @Test("a medium that takes nothing is closed before its process exits")
  func exit() async throws {
    let far = try LingeringEnd(seconds: 60)
    let thread = MediumThread()
    let channel = try await openFull(far, thread)
    try await NIOThreadPool.singleton.runIfActive { MediumThread.finish([thread]) }
    #expect(thread.isOver)
    try await ended(channel)
  }

  @Test("a full medium stops its writer, and loses nothing")
  func backPressure() async throws {
    let far = try FarEnd(buffer: 4096)
    let channel = try await open(far, limit: 1000)
    let bytes = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) }
    let written = channel.eventLoop.makePromise(of: Void.self)
    channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: written)
    var received: [UInt8] = []
    while received.count < bytes.count { received += try await far.receiveLater() }
    try await written.futureResult.get()
    #expect(received == bytes)
    try await channel.close()
  }

  @Test("a channel that is not read stops its medium, and loses nothing")
  func unread() async throws {
    let far = try FarEnd(buffer: 4096)
    let channel = try await open(far)
    var sent: [UInt8] = []
    // More than the buffers of all sockets on the way is never taken.
    while try await far.hasRoom, sent.count < 8 << 20 {
      let message = (0..<1000).map { UInt8(truncatingIfNeeded: (sent.count + $0) / 7) }
      try far.send(message)
      sent += message
    }
    #expect(sent.count < 8 << 20)
    let received = try await channel.received(count: sent.count)
    #expect(Array(buffer: received.bytes) == sent)
    try await channel.close()
  }

  @Test("a medium's channel refuses to close one direction")
  func halfClose() async throws {
    let far = try FarEnd()
    let channel = try await open(far)
    await #expect(throws: ChannelError.operationUnsupported) { try await channel.close(mode: .output).get() }
    try await channel.writeAndFlush(ByteBuffer(bytes: [1]))
    #expect(try far.receive() == [1])
    try await channel.close()
  }

  @Test("a medium without messages carries a stream of bytes")
  func stream() async throws {
    let far = try FarEnd(kind: SOCK_STREAM)
    let channel = try await LineMedium(far.takeNear(), .bytes, name: "test").open(
      on: MultiThreadedEventLoopGroup.singleton, logger: log.logger)
    try await channel.writeAndFlush(ByteBuffer(bytes: [1, 0, 2]))
    var received: [UInt8] = []
    while received.count < 3 { received += try far.receive() }
    #expect(received == [1, 0, 2])
    far.close()
    channel.read()
    try await ended(channel)
  }

  private func open(_ far: FarEnd, limit: Int = 4095, loss: Set<CInt> = []) async throws -> any Channel {
    try await LineMedium(far.takeNear(), .messages(limit: limit, loss: loss), name: "test").open(
      on: MultiThreadedEventLoopGroup.singleton, logger: log.logger)
  }

  /// Opens a medium whose close blocks, and fills it.
  private func openFull(_ far: LingeringEnd, _ thread: MediumThread) async throws -> any Channel {
    let channel = try await LineMedium(far.takeNear(), .messages(limit: 4095, loss: []), name: "test").open(
      on: MultiThreadedEventLoopGroup.singleton, to: nil, thread: thread, logger: log.logger)
    channel.writeAndFlush(ByteBuffer(repeating: 1, count: 1 << 20), promise: nil)
    #expect(try await eventually { far.isFull })
    return channel
  }

  private func ended(_ channel: any Channel) async throws {
    let promise = channel.eventLoop.makePromise(of: Void.self)
    let timeout = channel.eventLoop.scheduleTask(in: .seconds(20)) {
      promise.fail(FixtureError("the channel is still open"))
    }
    channel.closeFuture.cascade(to: promise)
    // The end of the input closes a line, as its owner does.
    channel.eventLoop.execute { try? channel.pipeline.syncOperations.addHandler(InputEndCloser()) }
    try await promise.futureResult.get()
    timeout.cancel()
  }
}

/// Closes the channel at the end of its input.
private final class InputEndCloser: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  func handlerAdded(context: ChannelHandlerContext) { context.read() }

  func channelReadComplete(context: ChannelHandlerContext) { context.read() }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent { context.close(promise: nil) }
  }
}

/// The other end of an emulated medium, a pair of sockets that keeps messages apart.
private final class FarEnd: @unchecked Sendable {
  // Sendable: each test uses it from one task.
  private var near: CInt
  private var far: CInt

  init(kind: __socket_type = SOCK_SEQPACKET, buffer: CInt? = nil) throws {
    var pair: [CInt] = [-1, -1]
    guard socketpair(AF_UNIX, CInt(kind.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0
    else {
      throw FixtureError("no pair of sockets: \(errno)")
    }
    (near, far) = (pair[0], pair[1])
    if var buffer {
      for end in pair { setsockopt(end, SOL_SOCKET, SO_SNDBUF, &buffer, socklen_t(MemoryLayout<CInt>.size)) }
    }
  }

  deinit {
    close()
    if near >= 0 { Glibc.close(near) }
  }

  func takeNear() -> CInt {
    defer { near = -1 }
    return near
  }

  func close() {
    if far >= 0 { Glibc.close(far) }
    far = -1
  }

  func send(_ bytes: [UInt8]) throws {
    guard Glibc.send(far, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count else {
      throw FixtureError("cannot send: \(errno)")
    }
  }

  /// Whether a message can be sent, now or within a moment.
  var hasRoom: Bool {
    get async throws { try await eventually(within: .milliseconds(300)) { ready(for: POLLOUT) } }
  }

  /// Whether there is a message.
  var isFull: Bool { get throws { ready(for: POLLIN) } }

  private func ready(for events: CInt, milliseconds: CInt = 0) -> Bool {
    var state = pollfd(fd: far, events: Int16(events), revents: 0)
    return poll(&state, 1, milliseconds) == 1
  }

  /// Receives the next message; no bytes at the end.
  func receive(waiting: Bool = true) throws -> [UInt8] {
    guard ready(for: POLLIN, milliseconds: waiting ? 20_000 : 0) else { throw FixtureError("nothing came in time") }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = recv(far, &bytes, bytes.count, 0)
    guard count >= 0 else { throw FixtureError("cannot receive: \(errno)") }
    return Array(bytes.prefix(count))
  }

  func receiveLater() async throws -> [UInt8] {
    _ = try await eventually { ready(for: POLLIN) }
    return try receive(waiting: false)
  }
}

/// The other end of an emulated medium that takes nothing, and whose close blocks until then: a connection with SO_LINGER.
private final class LingeringEnd: @unchecked Sendable {
  // Sendable: each test uses it from one task.
  private var near: CInt = -1
  private var far: CInt = -1

  init(seconds: CInt) throws {
    let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    near = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var buffer: CInt = 4096
    setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &buffer, socklen_t(MemoryLayout<CInt>.size))
    setsockopt(near, SOL_SOCKET, SO_SNDBUF, &buffer, socklen_t(MemoryLayout<CInt>.size))
    let isConnected = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 1) == 0 && getsockname(listener, $0, &size) == 0
          && connect(near, $0, size) == 0
      }
    }
    far = isConnected ? accept(listener, nil, nil) : -1
    var option = linger(l_onoff: 1, l_linger: seconds)
    guard far >= 0, fcntl(near, F_SETFL, O_NONBLOCK) == 0,
      setsockopt(near, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size)) == 0
    else { throw FixtureError("no connection: \(errno)") }
  }

  deinit {
    for end in [near, far] where end >= 0 { close(end) }
  }

  func takeNear() -> CInt {
    defer { near = -1 }
    return near
  }

  /// Whether something has arrived, which stays unread.
  var isFull: Bool {
    var state = pollfd(fd: far, events: Int16(POLLIN), revents: 0)
    return poll(&state, 1, 0) == 1
  }
}
