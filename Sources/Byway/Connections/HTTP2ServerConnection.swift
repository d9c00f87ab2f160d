import HTTP2Session
import HTTPWire
import Logging
package import NIOCore

/// The serving end of an HTTP/2 connection: begins an exchange for each request that arrives.
///
/// Lives on its channel's event loop.
package final class HTTP2ServerConnection: HTTP2Driver.Delegate, ServedConnection {
  private let driver: HTTP2Driver
  private let session: HTTP2Session
  private let handler: any ExchangeHandler
  private let configuration: ServerConfiguration
  private let via: String
  private var streams: [StreamID: HTTP2ServerStream] = [:]
  private var isDraining = false
  private let readAhead: ReadAhead
  private var lastEnd = NIODeadline.now()

  package var runningExchanges: Int { streams.count }

  /// Puts the connection on a channel, and turns reading on.
  package static func start(
    on channel: any Channel, handler: any ExchangeHandler, configuration: ServerConfiguration
  ) -> HTTP2ServerConnection {
    let connection = HTTP2ServerConnection(channel, handler, configuration)
    connection.driver.start(for: connection)
    return connection
  }

  private init(_ channel: any Channel, _ handler: any ExchangeHandler, _ configuration: ServerConfiguration) {
    session = HTTP2Session(role: .server, configuration: configuration.http2.over(channel), at: channel.eventLoop.now)
    driver = HTTP2Driver(session, on: channel)
    self.handler = handler
    self.configuration = configuration
    readAhead = ReadAhead(limit: configuration.readAhead)
    via = "2.0 \(configuration.hop)"
  }

  /// Accepts no more requests, lets the running ones finish, then closes.
  package func drain() {
    guard !isDraining else { return }
    isDraining = true
    session.shutdownNotice()
    closeIfDrained()
    driver.scheduleTransmit()
  }

  package var idleSince: NIODeadline? { streams.isEmpty ? lastEnd : nil }

  package func giveUpPlace() {
    session.goAway(.noError)
    driver.close()
  }

  package func close() {
    driver.close()
  }

  private func closeIfDrained() {
    guard isDraining, streams.isEmpty else { return }
    session.goAway(.noError)
    driver.scheduleTransmit()
  }

  // MARK: HTTP2Driver.Delegate

  func handle(_ event: consuming HTTP2Event) {
    switch consume event {
    case .head(let id, let fields, let endStream):
      begin(id, fields, isComplete: endStream)
    case .data(let id, let bytes, let endStream):
      streams[id]?.requestBody(bytes, isLast: endStream)
    case .trailers(let id, let fields):
      streams[id]?.requestEnded(trailers: fields)
    case .drained(let id, let bytes):
      streams[id]?.drained(bytes)
    case .closed(let id, let code, _):
      streams.removeValue(forKey: id)?.closed(code)
      if streams.isEmpty { lastEnd = .now() }
      closeIfDrained()
    case .failed(let failure):
      configuration.logger.warning("Link broke HTTP/2", metadata: ["reason": "\(failure)"])
    case .informational, .goAway, .settingsReceived, .pong:
      break
    }
  }

  func explain(_ failure: HTTP2Failure) -> BywayError { BywayError(failure) }

  func connectionEnded(_ error: BywayError?) {
    let running = streams.values
    streams.removeAll()
    let reason = error ?? BywayError(.linkLost, "The client closed the connection.")
    for stream in running { stream.connectionLost(reason) }
  }

  func inputEnded() {
    // No request can be completed any more, but an answer may still be read.
    for stream in Array(streams.values) { stream.inputEnded() }
    isDraining = true
    // Where that was the end of both directions, only a write tells: without it a stream whose window is shut would wait for ever.
    session.ping()
    driver.scheduleTransmit()
    closeIfDrained()
  }

  private func begin(_ id: StreamID, _ fields: consuming FieldSection, isComplete: Bool) {
    let stream = HTTP2ServerStream(
      id, session: session, driver: driver, readAhead: readAhead, configuration: configuration)
    streams[id] = stream
    stream.expectAnswer(to: fields)
    if let rejection = RequestRules.admit(&fields, configuration, via: via) {
      stream.fail(rejection)
      return
    }
    let head = ExchangeHead(
      fields: fields, isComplete: isComplete, deadline: configuration.deadline(), readAhead: readAhead)
    stream.begin(head, with: handler)
  }
}
