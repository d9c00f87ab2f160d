import BywayHTTP1Session
import BywayHTTPWire
package import NIOCore

/// The serving end of an HTTP/1.1 connection: an exchange for each request in turn.
///
/// Lives on its channel's event loop.
package final class HTTP1ServerConnection: ServedConnection {
  let session: HTTP1ServerSession
  let driver: ConnectionDriver
  private let handler: any ExchangeHandler
  private let configuration: ServerConfiguration
  /// The member that each request from here gets in `Via`.
  private let via: String
  private let terms: ServingTerms
  private let memory: MemoryAccount
  private var exchange: (id: StreamID, ServedExchange)?
  private var lastID: StreamID = 0
  /// The bytes without an exchange that the account counts.
  private var unclaimed = 0
  /// The number of such bytes that need not be counted.
  private static let unclaimedLimit = 16 * 1024
  private var hasInputEnded = false
  private var isWatching = false
  /// How often the client's socket was checked.
  private(set) var absenceLooks = 0
  /// The upgrade that the current request asks for, if any.
  private var upgrade: ServedUpgrade?

  /// Puts the connection on a channel, and starts reading.
  @discardableResult
  package static func start(
    on channel: any Channel, handler: any ExchangeHandler, configuration: ServerConfiguration
  ) -> HTTP1ServerConnection {
    let connection = HTTP1ServerConnection(channel, handler, configuration)
    connection.memory.open { connection.drop() }
    connection.driver.start(for: connection)
    return connection
  }

  private init(_ channel: any Channel, _ handler: any ExchangeHandler, _ configuration: ServerConfiguration) {
    var http1 = configuration.http1
    http1.tunnelsH2C = configuration.upgrades.permitsH2C
    session = HTTP1ServerSession(
      configuration: http1, timeouts: configuration.timeouts, at: channel.eventLoop.now)
    memory = MemoryAccount(configuration.memory, on: channel.eventLoop)
    driver = ConnectionDriver(session, on: channel, memory: memory)
    self.handler = handler
    self.configuration = configuration
    via = "1.1 \(configuration.hop)"
    terms = ServingTerms(
      configuration, readAhead: ReadAhead(lending: configuration.memory), memory: memory)
  }

  private func drop() -> Bool {
    if let exchange = exchange?.1, exchange.held > 0, exchange.held >= unclaimed {
      exchange.drop()
      return true
    }
    guard unclaimed > 0 else { return false }
    driver.note(BywayError(.refused, "The memory for bytes that wait is used up."))
    driver.abort()
    return true
  }

  /// Counts the bytes that no exchange counts, unless they are few.
  private func accountForUnclaimed() {
    let bytes = session.unclaimedBytes
    let counted = bytes > Self.unclaimedLimit ? bytes : 0
    guard counted != unclaimed else { return }
    memory.change(by: counted - unclaimed)
    unclaimed = counted
  }

  // MARK: ServedConnection

  package var runningExchanges: Int { session.isExchanging ? 1 : 0 }

  /// The bytes of a request that waits for its turn.
  package var bufferedBytes: Int { session.bufferedBytes }

  package var idleSince: NIODeadline? { session.idleSince }

  package func closeIdle() {
    driver.abort()
  }

  package func drain() {
    if runningExchanges == 0 { driver.forgoLine(after: driver.writtenBytes) }
    session.drain(at: driver.eventLoop.now)
    driver.transmit()
  }
}

extension HTTP1ServerConnection: ConnectionOwner {
  func deliver() {
    while !driver.isEnded, let event = session.nextEvent() { handle(event) }
    accountForUnclaimed()
  }

  private func handle(_ event: consuming HTTP1ServerEvent) {
    switch consume event {
    case .head(let head): begin(head)
    case .content(let bytes): exchange?.1.requestBody(bytes)
    case .end(let trailers): exchange?.1.requestEnded(trailers: trailers)
    case .drained(let bytes): exchange?.1.drained(bytes)
    case .refused(let failure): refuse(failure)
    case .closed: exchange.take()?.1.handedOver()
    }
  }

  private func begin(_ head: RequestHead) {
    // The exchange counts its head from now on.
    if unclaimed > 0 { accountForUnclaimed() }
    var fields = head.fields
    upgrade = nil
    let isTunnel = head.kind.asksForTunnel
    let isComplete = (head.framing == .none || head.framing == .length(0)) && !isTunnel
    let exchange = add(asked: fields, isComplete: isComplete)
    let via = head.version == .v1_1 ? via : "1.0 \(configuration.hop)"
    var authority: AuthoritySpelling?
    var rejection: BywayError?
    do throws(BywayError) {
      authority = try RequestRules.admit(&fields, configuration, via: via)
    } catch {
      rejection = error
    }
    if head.targetForm == .absolute {
      fields.append(.targetForm, "absolute")
    } else if head.kind != .connect {
      fields.append(.scheme, configuration.scheme)
    }
    if head.acceptsTrailers { fields.append(.te, "trailers") }
    exchange.observe(&fields, head.version == .v1_1 ? .http1_1 : .http1_0)
    if let rejection {
      exchange.fail(rejection)
      return
    }
    do throws(BywayError) {
      upgrade = try ServedUpgrade(head, &fields, by: configuration.upgrades)
    } catch {
      exchange.fail(error)
      return
    }
    // An upgrade has changed the method.
    let kind = upgrade == nil ? head.kind : RequestKind(fields)
    let target = ParsedTarget(kind: kind, scheme: RequestScheme(of: fields), authority: authority)
    exchange.begin(fields, target, with: handler)
  }

  private func add(asked: FieldSection?, isComplete: Bool) -> ServedExchange {
    lastID &+= 1
    let exchange = ServedExchange(
      lastID, on: self, asked: asked, isComplete: isComplete, terms: terms)
    self.exchange = (lastID, exchange)
    return exchange
  }

  /// Answers input that is not valid HTTP/1.1 with the reason; nothing more is read.
  private func refuse(_ failure: HTTP1Failure) {
    configuration.logger.debug("Request refused", metadata: ["reason": "\(failure)"])
    let error = BywayError(
      failure.code == .tooLarge ? .tooLarge : .invalidRequest, failure.message, processing: .none)
    (exchange?.1 ?? addUnreadable()).refuse(error, status: failure.status)
  }

  private func addUnreadable() -> ServedExchange {
    let exchange = add(asked: nil, isComplete: true)
    exchange.observe(.http1_1)
    return exchange
  }

  func inputEnded(isClosed: Bool) {
    guard !isClosed else { return }
    session.receiveEnd(at: driver.eventLoop.now)
    hasInputEnded = true
    if session.isExchanging { TCPKeepAlive.peerEnded(driver.channel) }
    watchForAbsence()
  }

  func readHeldBack() {
    watchForAbsence()
  }

  /// Checks periodically whether a program still holds the client's socket, while no other event would show it.
  private func watchForAbsence() {
    guard !isWatching else { return }
    isWatching = true
    driver.watch(driver.eventLoop.now + configuration.absence.first)
  }

  func timePassed() {
    isWatching = false
    guard session.isExchanging, hasInputEnded || driver.isReadHeldBack else { return }
    absenceLooks += 1
    if OrphanedSocket.isOtherEnd(of: driver.channel) {
      driver.note(BywayError(.cancelled, "The client has closed its socket."))
      driver.abort()
    } else {
      isWatching = true
      driver.watch(driver.eventLoop.now + configuration.absence.next)
    }
  }

  func connectionEnded(_ error: BywayError?) {
    if let error { configuration.logger.debug("Connection failed", metadata: ["reason": "\(error)"]) }
    exchange.take()?.1.closed(BywayError(.cancelled, "The client closed the connection."))
    memory.close()
  }
}

extension HTTP1ServerConnection: ResponseWriter {
  private func isCurrent(_ id: StreamID) -> Bool { exchange?.id == id }

  func informational(_ id: StreamID, _ head: FieldSection) {
    guard isCurrent(id) else { return }
    session.informational(head)
    driver.scheduleTransmit()
  }

  func respond(_ id: StreamID, _ head: FieldSection, isComplete: Bool) throws(BywayError) {
    guard isCurrent(id) else { return }
    var head = head
    let opened = ServedUpgrade.isOpened(by: head) ? upgrade : nil
    opened?.confirm(&head)
    try written { session throws(HTTP1Failure) in
      try session.respond(
        head, isComplete: isComplete, upgrade: opened?.name, attaches: opened != nil && opened?.name == nil,
        at: driver.eventLoop.now)
    }
  }

  func write(_ id: StreamID, _ bytes: ByteBuffer) throws(BywayError) {
    guard isCurrent(id) else { return }
    try written { session throws(HTTP1Failure) in try session.write(bytes) }
  }

  func finish(_ id: StreamID, trailers: FieldSection?) throws(BywayError) {
    guard isCurrent(id) else { return }
    try written { session throws(HTTP1Failure) in
      try session.finish(trailers: trailers, at: driver.eventLoop.now)
    }
  }

  private func written(_ body: (HTTP1ServerSession) throws(HTTP1Failure) -> Void) throws(BywayError) {
    do {
      try body(session)
    } catch {
      throw BywayError(.protocolViolation, "The response cannot be written: \(error.message)")
    }
    driver.scheduleTransmit()
  }

  func cutShort(_ id: StreamID, _ error: BywayError, status: FieldSection?) {
    guard isCurrent(id) else { return }
    session.cutShort()
    driver.scheduleTransmit()
  }

  func consume(_ id: StreamID, _ bytes: Int) {
    guard isCurrent(id) else { return }
    session.consume(bytes)
    driver.resumeReading()
  }

  /// Does nothing: where the rest of a request would have to be dropped, the session ends the connection.
  func stopReceiving(_ id: StreamID) {}
}
