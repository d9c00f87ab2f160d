import NIOCore

// Falls back to a lesser link when a line is lost, and returns to a better one when that opens again.
extension HTTP1Upstream {
  /// Whether its line is gone while another link may work.
  func mustLeave(_ connection: HTTP1ClientConnection) -> Bool {
    links.areSeveral && connection.interruption != nil
  }

  func isOnLesserLink(_ connection: HTTP1ClientConnection) -> Bool {
    links.areSeveral && connection.link > links.current ?? .max
  }

  func connectionInterrupted(_ connection: HTTP1ClientConnection) {
    guard links.areSeveral else { return }
    eventLoop.assumeIsolated().scheduleTask(in: LinkTable.patienceWithLines) {
      guard connection.interruption != nil else { return }
      connection.abort(BywayError(.linkLost, "The line of \(connection.name) is gone."))
    }
  }

  /// Tests a better link while a request uses a lesser one. An HTTP/1.1 server sends nothing before it gets a request, so the test is
  /// whether it keeps a connection open for a while.
  func searchBetterLink(at now: NIODeadline) {
    guard !isSearching, isServing, let current = links.current,
      let (link, time) = links.nextTrial(betterThan: current), time <= now
    else { return }
    isSearching = true
    links.dial(only: link, on: eventLoop, deadline: now + configuration.connectTimeout).assumeIsolated().whenComplete {
      switch $0 {
      case .success(let opened) where self.isServing:
        let trial = HTTP1ConnectionTrial(on: self.eventLoop, for: self.links.trial(of: link)) { self.tried(link, $0) }
        self.start(opened, for: trial)
      case .success(let opened):
        opened.channel.close(promise: nil)
        self.isSearching = false
      case .failure(let error):
        self.tried(link, .failure(self.links.explain(error, of: link)))
      }
    }
  }

  private func tried(_ link: Int, _ result: Result<HTTP1ClientConnection, BywayError>) {
    isSearching = false
    switch result {
    case .failure(let error):
      if !links.isUp(link) { links.failed(link, error, isUrgent: false, at: eventLoop.now) }
    case .success(let connection):
      guard isServing else {
        connection.close()
        return
      }
      links.passed(link)
      links.serves(link, at: eventLoop.now)
      for lesser in idle where isOnLesserLink(lesser) { lesser.close() }
      connectionOpens()
      connection.handOver(to: self)
    }
  }
}

/// A connection that must stay open for a while before it gets exchanges.
///
/// Its delegate during that time; held by the connection and by a timer. Lives on its event loop.
private final class HTTP1ConnectionTrial: HTTP1ClientConnection.Delegate {
  private let eventLoop: any EventLoop
  private let duration: TimeAmount
  private var timer: Scheduled<Void>?
  private var ended: ((Result<HTTP1ClientConnection, BywayError>) -> Void)?

  init(
    on eventLoop: any EventLoop, for duration: TimeAmount,
    _ ended: @escaping (Result<HTTP1ClientConnection, BywayError>) -> Void
  ) {
    self.eventLoop = eventLoop
    self.duration = duration
    self.ended = ended
  }

  func connectionBecameIdle(_ connection: HTTP1ClientConnection) {
    timer = eventLoop.assumeIsolated().scheduleTask(in: duration) { self.ended.take()?(.success(connection)) }
  }

  func connectionEnded(_ connection: HTTP1ClientConnection, _ error: BywayError, _ end: HTTP1ClientConnection.End) {
    timer?.cancel()
    ended.take()?(.failure(error))
  }

  func connectionInterrupted(_ connection: HTTP1ClientConnection) {
    connection.abort(BywayError(.linkLost, "The line of \(connection.name) is gone."))
  }
}
