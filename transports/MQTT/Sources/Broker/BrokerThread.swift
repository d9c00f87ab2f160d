import Byway
import BywayLibC
import BywayPrimitives
import CBywayMosquitto
import NIOCore
import Synchronization

/// A thread that makes all calls into libmosquitto for one connection.
///
/// The library resolves names and connects with blocking calls, so it cannot run on an event loop. It is used by this thread only, which
/// waits for the socket and for commands in poll(2). The library's own loop uses select(2), which fails above 1,024 descriptors.
final class BrokerThread: BrokerClient, @unchecked Sendable {
  // Sendable: the inbox has a lock, the counter is atomic, the handlers are constant, and the thread alone uses the rest.

  enum Command: Sendable {
    case publish(topic: String, payload: ByteBuffer, Delivery, EventLoopPromise<Void>)
    case subscribe(topic: String, takesRetained: Bool, EventLoopPromise<Void>)
    case close
  }

  enum Delivery: Sendable {
    /// QoS 0: complete when the message has been written to the connection.
    case unacknowledged
    /// QoS 1: complete when the broker has acknowledged it. The broker keeps a retained message.
    case acknowledged(isRetained: Bool)
  }

  /// The reports of the thread. Called on it.
  struct Handlers: Sendable {
    /// The broker has accepted the connection, and takes messages of that size.
    var opened: @Sendable (_ messageLimit: Int) -> Void
    var received: @Sendable (BrokerMessage) -> Void
    /// The last report.
    var ended: @Sendable (BrokerEnd) -> Void
  }

  private struct Inbox {
    var commands: [Command] = []
    var isOver = false
  }

  /// Bytes by ``BrokerMessage/cost`` that the owner has not handled yet, above which nothing is read from the broker.
  private static let unreadLimit = 1 << 20
  /// The time for the last packets of a connection that this end closes.
  private static let farewellLimit = TimeAmount.seconds(1)

  private let library: MosquittoLibrary
  private let settings: BrokerSettings
  private let handlers: Handlers
  private let inbox = Mutex(Inbox())
  private let wakeup: Wakeup
  private let unread = Atomic<Int>(0)

  // The thread's own.
  private var waiting: [Int32: EventLoopPromise<Void>] = [:]
  /// The numbers of messages that were written before their number was known here.
  private var written: Set<Int32> = []
  private var isOpen = false
  private var ending: BrokerEnd?
  private var complaint: String?

  private init(_ settings: BrokerSettings, _ handlers: Handlers, _ library: MosquittoLibrary) throws {
    self.library = library
    wakeup = try Wakeup()
    self.settings = settings
    self.handlers = handlers
  }

  /// Starts a thread that connects and then executes commands until the connection ends.
  static func start(
    _ settings: BrokerSettings, _ handlers: Handlers, with library: MosquittoLibrary? = nil
  ) throws -> BrokerThread {
    let thread = try BrokerThread(settings, handlers, library ?? .shared())
    pthread_detach(try SystemThread.start { thread.run() })
    return thread
  }

  func execute(_ command: Command) {
    let isOver = inbox.withLock { inbox in
      if !inbox.isOver { inbox.commands.append(command) }
      return inbox.isOver
    }
    if isOver { Self.fail(command, .closed) } else { wakeup.wake() }
  }

  /// The cost of the messages that the owner has not handled.
  var unreadCost: Int { unread.load(ordering: .relaxed) }

  func handled(_ cost: Int) {
    let left = unread.subtract(cost, ordering: .relaxed).newValue
    if left <= Self.unreadLimit, left + cost > Self.unreadLimit { wakeup.wake() }
  }

  private static func fail(_ command: Command, _ end: BrokerEnd) {
    switch command {
    case .publish(_, _, _, let promise), .subscribe(_, _, let promise): promise.fail(end)
    case .close: break
    }
  }

  // MARK: The thread

  private func run() {
    blockSignals()
    let end = serve()
    let left = inbox.withLock { inbox in
      inbox.isOver = true
      defer { inbox.commands = [] }
      return inbox.commands
    }
    for command in left { Self.fail(command, end) }
    for promise in waiting.values { promise.fail(end) }
    handlers.ended(end)
  }

  /// A write to a lost connection must not end the process, and signals are for other threads.
  private func blockSignals() {
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, nil)
  }

  private func serve() -> BrokerEnd {
    guard let client = library.new(settings.clientID, true, Unmanaged.passUnretained(self).toOpaque()) else {
      return .lost("the library has no memory")
    }
    defer { library.destroy(client) }
    setHandlers(client)
    let result = configure(client)
    if result != 0 { return end(of: result) }
    while true {
      if let end = turn(client) { return end }
    }
  }

  private func configure(_ client: OpaquePointer) -> Int32 {
    _ = library.setOption(client, Int32(BROKER_OPTION_PROTOCOL_VERSION), 5)
    _ = library.setOption(client, Int32(BROKER_OPTION_NO_DELAY), 1)
    if settings.user != nil {
      let result = library.setLogin(client, settings.user, settings.password)
      if result != 0 { return result }
    }
    if let tls = settings.tls {
      // The passphrase callback keeps OpenSSL from asking on the terminal.
      let result = library.setTLS(
        client, tls.ca, tls.ca == nil ? "/etc/ssl/certs" : nil, tls.identity?.cert, tls.identity?.key,
        { _, _, _, _ in 0 })
      if result != 0 { return result }
    }
    if let will = settings.will {
      let result = library.setWill(client, will.topic, Int32(will.payload.count), will.payload, 1, true, nil)
      if result != 0 { return result }
    }
    var properties: OpaquePointer?
    defer { library.freeProperties(&properties) }
    _ = library.addNumber(
      &properties, Int32(BROKER_PROPERTY_MAXIMUM_PACKET_SIZE), UInt32(BrokerSettings.packetLimit))
    return library.connect(
      client, settings.host, Int32(settings.port), BrokerSettings.keepAlive, nil, properties)
  }

  /// Waits for the socket or a command, and handles both.
  /// - Returns: the end, if the connection is over.
  private func turn(_ client: OpaquePointer) -> BrokerEnd? {
    let socket = library.socket(client)
    guard socket >= 0 else { return ending ?? .lost("the connection was closed") }
    var interest = Int16(0)
    if unread.load(ordering: .relaxed) <= Self.unreadLimit { interest |= Int16(POLLIN) }
    if library.wantsToWrite(client) { interest |= Int16(POLLOUT) }
    var descriptors = [
      pollfd(fd: wakeup.reading, events: Int16(POLLIN), revents: 0), pollfd(fd: socket, events: interest, revents: 0),
    ]
    _ = poll(&descriptors, 2, 1000)
    if descriptors[0].revents != 0 { wakeup.clear() }
    let events = Int32(descriptors[1].revents)
    var result: Int32 = 0
    if events & POLLOUT != 0 { result = library.write(client, 1) }
    if result == 0, events & (POLLIN | POLLERR | POLLHUP) != 0 {
      result = library.read(client, 1)
      acknowledgeAtOnce(socket)
    }
    if result == 0 { result = library.keepUp(client) }
    if result != 0 { return ending ?? end(of: result) }
    return isOpen ? executeCommands(client) : closeBeforeOpen()
  }

  /// Acknowledges received packets without the usual delay of 40 ms. Brokers that use Nagle's algorithm, as mosquitto does by default, wait
  /// for that before they send the next small packet. The kernel resets the option by itself (tcp(7)).
  private func acknowledgeAtOnce(_ socket: Int32) {
    #if os(Linux)
      var isOn: Int32 = 1
      _ = setsockopt(
        socket, Int32(IPPROTO_TCP), Int32(TCP_QUICKACK), &isOn, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  private func takeCommands() -> [Command] {
    inbox.withLock { inbox in
      defer { inbox.commands = [] }
      return inbox.commands
    }
  }

  /// Before the broker has accepted the connection, only the command to close is executed.
  private func closeBeforeOpen() -> BrokerEnd? {
    inbox.withLock { inbox in
      inbox.commands.contains { if case .close = $0 { true } else { false } }
    } ? .closed : nil
  }

  private func executeCommands(_ client: OpaquePointer) -> BrokerEnd? {
    var commands = takeCommands()[...]
    while let command = commands.popFirst() {
      switch command {
      case .publish(let topic, let payload, let delivery, let promise):
        publish(client, topic, payload, delivery, promise)
      case .subscribe(let topic, let takesRetained, let promise):
        var number: Int32 = 0
        let options = takesRetained ? 0 : Int32(BROKER_NEVER_SEND_RETAINED)
        expect(library.subscribe(client, &number, topic, 0, options, nil), number, promise)
      case .close:
        for command in commands { Self.fail(command, .closed) }
        close(client)
        return .closed
      }
    }
    return nil
  }

  private func publish(
    _ client: OpaquePointer, _ topic: String, _ payload: ByteBuffer, _ delivery: Delivery,
    _ promise: EventLoopPromise<Void>
  ) {
    let (quality, isRetained): (Int32, Bool) =
      switch delivery {
      case .unacknowledged: (0, false)
      case .acknowledged(let isRetained): (1, isRetained)
      }
    var number: Int32 = 0
    let result = payload.withUnsafeReadableBytes { bytes in
      library.publish(client, &number, topic, Int32(bytes.count), bytes.baseAddress, quality, isRetained, nil)
    }
    expect(result, number, promise)
  }

  /// Completes a promise when the library reports its number.
  private func expect(_ result: Int32, _ number: Int32, _ promise: EventLoopPromise<Void>) {
    if result != 0 {
      promise.fail(end(of: result))
    } else if written.remove(number) != nil {
      promise.succeed()
    } else {
      waiting[number] = promise
    }
  }

  private func close(_ client: OpaquePointer) {
    _ = library.disconnect(client, 0, nil)
    let end = NIODeadline.now() + Self.farewellLimit
    while library.socket(client) >= 0, library.wantsToWrite(client) {
      let left = Int32(clamping: (end - .now()).nanoseconds / 1_000_000)
      var descriptor = pollfd(fd: library.socket(client), events: Int16(POLLOUT), revents: 0)
      guard left > 0, poll(&descriptor, 1, left) > 0, library.write(client, 1) == 0 else { return }
    }
  }

  private func end(of result: Int32) -> BrokerEnd {
    switch Int(result) {
    case BROKER_TLS_ERROR: .tls(complaint ?? library.text(of: result))
    case BROKER_KEEP_ALIVE_ERROR: .silent
    case BROKER_SYSTEM_ERROR: .lost("\(SystemError(code: errno))")
    default: complaint.map { .tls($0) } ?? .lost(library.text(of: result))
    }
  }

  // MARK: The library's reports

  private static func of(_ context: UnsafeMutableRawPointer?) -> BrokerThread? {
    context.map { Unmanaged<BrokerThread>.fromOpaque($0).takeUnretainedValue() }
  }

  private func setHandlers(_ client: OpaquePointer) {
    library.onConnected(client) { _, context, code, _, properties in
      BrokerThread.of(context)?.connected(code, properties)
    }
    library.onEnded(client) { _, context, code, _ in BrokerThread.of(context)?.disconnected(code) }
    library.onPublished(client) { _, context, number, code, _ in BrokerThread.of(context)?.completed(number, code) }
    library.onSubscribed(client) { _, context, number, count, codes, _ in
      BrokerThread.of(context)?.completed(number, count > 0 ? codes?.pointee ?? 0 : 0)
    }
    library.onReceived(client) { _, context, message, _ in
      if let message { BrokerThread.of(context)?.received(message.pointee) }
    }
    library.onLogged(client) { _, context, level, text in
      if level == Int32(BROKER_LOG_ERROR), let text {
        BrokerThread.of(context)?.complained(String(cString: text))
      }
    }
  }

  private func connected(_ code: Int32, _ properties: OpaquePointer?) {
    guard code == 0 else {
      ending = .refused(code: code, words: library.text(ofReason: code))
      return
    }
    var packetLimit = UInt32.max
    _ = library.readNumber(properties, Int32(BROKER_PROPERTY_MAXIMUM_PACKET_SIZE), &packetLimit, false)
    isOpen = true
    handlers.opened(Self.messageLimit(packetLimit: Int(packetLimit)))
  }

  /// Returns the size of the largest message in packets of that size. A topic and the packet's head need less than 300 bytes.
  static func messageLimit(packetLimit: Int) -> Int {
    max(1, min(BrokerSettings.messageLimit, packetLimit - 300))
  }

  private func disconnected(_ code: Int32) {
    if code >= 0x80, ending == nil { ending = .dismissed(code: code, words: library.text(ofReason: code)) }
  }

  private func completed(_ number: Int32, _ code: Int32) {
    guard let promise = waiting.removeValue(forKey: number) else {
      written.insert(number)
      return
    }
    if code >= 0x80 {
      promise.fail(BrokerEnd.denied(code: code, words: library.text(ofReason: code)))
    } else {
      promise.succeed()
    }
  }

  private func received(_ message: broker_message) {
    guard let topic = message.topic, (0...Int32(BrokerSettings.messageLimit)).contains(message.length),
      strnlen(topic, LinkTopics.longest + 1) <= LinkTopics.longest
    else { return }
    let payload = [UInt8](UnsafeRawBufferPointer(start: message.payload, count: Int(message.length)))
    let received = BrokerMessage(topic: String(cString: topic), payload: payload, isRetained: message.is_retained)
    unread.add(received.cost, ordering: .relaxed)
    handlers.received(received)
  }

  /// Keeps the words of OpenSSL, which no error code has: `OpenSSL Error[0]: error:0A000086:SSL routines::certificate verify failed`.
  private func complained(_ text: String) {
    guard complaint == nil, text.hasPrefix("OpenSSL Error") || text.contains("certificate") else { return }
    complaint = text.split(separator: ":").last.map { String($0) }
  }
}
