import BywayHTTP2Session
import BywayHTTPWire
import Logging
package import NIOCore

/// The serving end of an HTTP/2 connection: an exchange for each request that arrives.
///
/// Lives on its channel's event loop.
package final class HTTP2ServerConnection: ServedConnection, HTTP2StreamWriter {
  let driver: ConnectionDriver
  let session: HTTP2Session
  private let handler: any ExchangeHandler
  private let configuration: ServerConfiguration
  private let via: String
  private var exchanges = StreamTable<ServedExchange>()
  private var phase = Phase.serving
  package private(set) var farewell: Farewell?
  private let terms: ServingTerms
  private let memory: MemoryAccount
  private var lastEnd = NIODeadline.now()
  /// The number of bytes on the line up to the end of the last exchange. A connection that drains waits for no later bytes.
  private var worth: UInt64 = 0

  private enum Phase {
    case serving
    /// The client has been asked to send no more requests; those that it sends before it receives that are served.
    case askingToStop(atMost: Scheduled<Void>)
    /// The last request is known.
    case draining
  }

  /// The time for the client to learn that no more requests are accepted.
  private static let lastCall = TimeAmount.seconds(1)

  /// The initial window of a stream, in bytes. It is what clients assume before they have our SETTINGS.
  private static let initialWindow = 65_535

  package var runningExchanges: Int { exchanges.count }

  /// Puts the connection on a channel, and starts reading.
  package static func start(
    on channel: any Channel, handler: any ExchangeHandler, configuration: ServerConfiguration
  ) -> HTTP2ServerConnection {
    let connection = HTTP2ServerConnection(channel, handler, configuration)
    connection.memory.open { connection.drop() }
    connection.driver.start(for: connection)
    return connection
  }

  private init(_ channel: any Channel, _ handler: any ExchangeHandler, _ configuration: ServerConfiguration) {
    var http2 = configuration.http2.over(channel)
    // More of a body is accepted only if the peer's memory allows it, except over a line, which is slow to pass on window updates.
    if http2.windows.isEager { http2.windows.initial = min(Self.initialWindow, http2.windows.initial) }
    session = HTTP2Session(
      role: .server, configuration: http2,
      readAhead: ReadAhead(limit: http2.windows.growth, lending: configuration.memory), at: channel.eventLoop.now)
    memory = MemoryAccount(configuration.memory, on: channel.eventLoop)
    driver = ConnectionDriver(session, on: channel)
    self.handler = handler
    self.configuration = configuration
    terms = ServingTerms(
      configuration, readAhead: ReadAhead(limit: configuration.readAhead, lending: configuration.memory), memory: memory
    )
    via = "2.0 \(configuration.hop)"
  }

  private func drop() -> Bool {
    let now = driver.eventLoop.now
    guard let exchange = exchanges.values.max(by: { $0.rank(at: now) < $1.rank(at: now) }), exchange.held > 0 else {
      return false
    }
    exchange.drop()
    // A head that was queued stays in memory, even of a stream that is reset, until it would be sent.
    if session.unsentHeadSize > MemoryAccount.step, !driver.channel.isWritable {
      driver.note(BywayError(.refused, "The memory for responses that wait is used up."))
      driver.abort()
    }
    return true
  }

  /// Accepts no more requests, lets the running ones finish, then closes.
  package func drain() {
    guard case .serving = phase else { return }
    session.shutdownNotice()
    // The pong shows that the client has received it (RFC 9113 §6.8).
    session.ping()
    phase = .askingToStop(
      atMost: driver.eventLoop.assumeIsolated().scheduleTask(in: Self.lastCall) { self.stopAccepting() })
    driver.scheduleTransmit()
    if driver.interruption != nil { stopAccepting() }
  }

  private func stopAccepting() {
    if case .askingToStop(let timer) = phase { timer.cancel() }
    phase = .draining
    closeIfDrained()
  }

  package var idleSince: NIODeadline? { exchanges.isEmpty ? lastEnd : nil }

  package func closeIdle() {
    session.goAway(.noError)
    driver.close()
  }

  package func close() {
    driver.close()
  }

  private func closeIfDrained() {
    guard case .draining = phase, exchanges.isEmpty else { return }
    session.goAway(.noError)
    driver.scheduleTransmit()
    driver.forgoLine(after: worth)
  }
}

extension HTTP2ServerConnection: ConnectionOwner {
  func deliver() {
    while !driver.isEnded, let event = session.nextEvent() { handle(event) }
  }

  private func handle(_ event: consuming HTTP2Event) {
    switch consume event {
    case .head(let id, let fields, let endStream):
      begin(id, fields, isComplete: endStream)
    case .data(let id, let bytes, let endStream):
      guard let exchange = exchanges[id] else { return }
      if bytes.readableBytes > 0 { exchange.requestBody(bytes) }
      if endStream { exchange.requestEnded(trailers: nil) }
    case .trailers(let id, let fields):
      exchanges[id]?.requestEnded(trailers: fields)
    case .drained(let id, let bytes):
      exchanges[id]?.drained(bytes)
    case .closed(let id, let code, _):
      exchanges.remove(id)?.closed(
        BywayError(.cancelled, "The client cancelled the request (\(code))."))
      if exchanges.isEmpty { exchangesEnded() }
      closeIfDrained()
    case .failed(let failure):
      log("Link broke HTTP/2", ["reason": "\(failure)"], atMost: configuration.breaches)
      driver.note(BywayError(failure))
      driver.scheduleTransmit()
    case .pong:
      if case .askingToStop = phase { stopAccepting() }
    case .goAway(_, let code, let reason) where !reason.isEmpty: sentAway(code, reason)
    case .informational, .violated, .goAway, .settingsReceived, .departed:
      break
    }
  }

  /// A hub refuses this gateway, or a client ends the connection for another reason that it states.
  private func sentAway(_ code: HTTP2ErrorCode, _ reason: String) {
    farewell = .refused(code == .noError ? reason : "\(reason) (\(code))")
    log("The other end closes the link", ["reason": "\(reason)", "code": "\(code)"], atMost: configuration.farewells)
  }

  /// Logs an ending, unless the same one was logged a moment ago: a peer must not fill the log.
  private func log(_ message: Logger.Message, _ facts: Logger.Metadata, atMost limit: SharedSparseLog) {
    guard let keptBack = limit.admit(at: driver.eventLoop.now) else { return }
    var facts = facts
    if keptBack > 0 { facts["repeated"] = "\(keptBack)" }
    configuration.logger.log(level: configuration.endingLevel, message, metadata: facts)
  }

  private func exchangesEnded() {
    lastEnd = .now()
    worth = driver.writtenBytes
  }

  private func begin(_ id: StreamID, _ fields: consuming FieldSection, isComplete: Bool) {
    guard !memory.isOverShare else {
      session.reset(id, .refusedStream)
      return driver.scheduleTransmit()
    }
    let exchange = ServedExchange(
      id, on: self, asked: fields, isComplete: isComplete, terms: terms)
    exchanges[id] = exchange
    do throws(BywayError) {
      let authority = try RequestRules.admit(&fields, configuration, via: via)
      exchange.observe(&fields, .http2)
      let target = ParsedTarget(
        kind: RequestKind(fields), scheme: RequestScheme(of: fields), authority: authority)
      exchange.begin(fields, target, with: handler)
    } catch {
      exchange.observe(&fields, .http2)
      exchange.fail(error)
    }
  }

  func inputEnded(isClosed: Bool) {
    session.receiveEnd(at: driver.eventLoop.now)
    guard !isClosed else { return }
    // No request can be completed any more, but a response may still be read.
    let error = BywayError(.linkLost, "The client closed the connection before the end of its request.")
    for exchange in exchanges.values { exchange.requestLost(error) }
    stopAccepting()
    // If both directions have ended, only a write detects it; without it a stream whose window is closed would wait for ever.
    session.ping()
    driver.scheduleTransmit()
  }

  /// The client cannot be reached to be told more.
  func linkInterrupted() {
    if case .askingToStop = phase { stopAccepting() }
  }

  func connectionEnded(_ error: BywayError?) {
    if case .askingToStop(let timer) = phase { timer.cancel() }
    farewell = farewell ?? error.map { Farewell($0) }
    let running = exchanges.values
    exchanges = StreamTable()
    let reason = error ?? BywayError(.linkLost, "The client closed the connection.")
    for exchange in running { exchange.closed(reason) }
    memory.close()
  }
}

extension HTTP2ServerConnection: ResponseWriter {
  func informational(_ id: StreamID, _ head: FieldSection) {
    session.submitInformational(id, head)
    driver.scheduleTransmit()
  }

  func respond(_ id: StreamID, _ head: FieldSection, isComplete: Bool) {
    session.submitResponse(id, head, endStream: isComplete)
    driver.scheduleTransmit()
  }

  func cutShort(_ id: StreamID, _ error: BywayError, status: FieldSection?) {
    if let status {
      session.finish(id, trailers: status)
      session.stopReceiving(id)
    } else {
      // A truncated body must not look like a complete one (RFC 9113 §8.1.1).
      session.reset(id, error.code == .cancelled ? .cancel : .internalError)
    }
    driver.scheduleTransmit()
  }

  /// After our side has ended, the client is notified with NO_ERROR (RFC 9113 §8.1).
  func stopReceiving(_ id: StreamID) {
    session.stopReceiving(id)
  }
}
