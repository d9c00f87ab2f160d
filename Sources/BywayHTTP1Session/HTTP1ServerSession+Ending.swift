import BywayHTTPWire
package import NIOCore

/// The time limits of a client, and the end of its connection.
extension HTTP1ServerSession {
  // MARK: Time

  /// Updates the state between requests. A client is waited for between requests and within a head. Content may pause for any
  /// time, as streams do.
  func settle() {
    switch state {
    case .idle, .inHead:
      if isInputEnded {
        close()
      } else if parser.isIdle {
        if case .inHead = state { state = .idle(since: now) }
      } else if case .idle = state {
        state = .inHead(since: now)
      }
    case .exchanging, .unread, .closing, .lingering, .ended:
      break
    }
  }

  package var nextDeadline: NIODeadline? {
    switch (state, acceptance) {
    case (.idle, .one(let end)), (.inHead, .one(let end)): end
    case (.idle(let start), _): start + timeouts.idle
    case (.inHead(let start), _): start + timeouts.head
    case (.unread(let start), _): start + timeouts.unread
    case (.closing(let end), _), (.lingering(let end), _): end
    case (.exchanging(let exchange), _): held?.until ?? probeAt(exchange)
    case (.ended, _): nil
    }
  }

  /// The time to probe a client that has ended its direction. Only sending reveals whether it is alive: a closed connection refuses
  /// the bytes, and a waiting client ignores a `100 Continue` that it did not ask for (RFC 9110 §15.2.1). `nil` if nothing may be
  /// sent now.
  private func probeAt(_ exchange: Exchange) -> NIODeadline? {
    guard case .ended(let probeAt) = input, case .whole = exchange.request, case .awaited = exchange.response,
      exchange.context.version == .v1_1
    else { return nil }
    return probeAt
  }

  package func handleTimeout(at now: NIODeadline) {
    guard let deadline = nextDeadline, deadline <= now else { return }
    self.now = now
    switch state {
    case .idle: close()
    case .inHead:
      pending = refuse(HTTP1Failure(.incomplete(.inHead), "The request's head did not arrive in time.", status: 408))
    case .unread, .closing, .lingering: end(.abort(byReset: false))
    case .exchanging(let exchange) where held != nil:
      sendHeld(exchange)
    case .exchanging:
      input = .ended(probeAt: now + timeouts.probeAgain)
      // Bytes already queued have the same effect.
      if output.isEmpty { informational([":status": "100"]) }
    case .ended: break
    }
  }

  // MARK: Ending

  /// Ends our direction after everything is written, and waits a moment for the client to end its own. Closing with unread
  /// input would cause a reset, which may overtake the response (RFC 9112 §9.6).
  func close() {
    gate.end()
    output.stopCountingContent()
    state = .closing(until: now + timeouts.unread)
    ending = isInputEnded ? .close(within: timeouts.unread) : .endOutput
  }

  func end(_ ending: ConnectionEnding) {
    self.ending = ending
    state = .ended
    held = nil
    gate.end()
    output.stopCountingContent()
  }
}
