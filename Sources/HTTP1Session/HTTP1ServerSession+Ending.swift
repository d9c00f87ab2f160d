import HTTPWire
package import NIOCore

/// When a client's time is over, and how its connection ends.
extension HTTP1ServerSession {
  // MARK: Time

  /// Between requests and within a head the client is waited for. Content may pause as long as its sender likes: streams do.
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
    case (.exchanging(let exchange), _): probeAt(exchange)
    case (.ended, _): nil
    }
  }

  /// When a client that has ended its direction is asked whether it is still there. Only what is written to it tells: who has gone
  /// refuses it, and who waits passes over a `100 Continue` that it has not asked for (RFC 9110 §15.2.1). `nil` where nothing may be
  /// written now.
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
    case .exchanging:
      input = .ended(probeAt: now + timeouts.probeAgain)
      // What already waits for it asks as well.
      if output.isEmpty { informational([":status": "100"]) }
    case .ended: break
    }
  }

  // MARK: Ending

  /// Ends our direction once everything is written, and waits a moment for the client to end its own: closing on bytes that
  /// nobody has read would be a reset, which may overtake the response (RFC 9112 §9.6).
  func close() {
    gate.forget()
    output.forgetContent()
    state = .closing(until: now + timeouts.unread)
    ending = isInputEnded ? .close(within: timeouts.unread) : .endOutput
  }

  func end(_ ending: ConnectionEnding) {
    self.ending = ending
    state = .ended
    gate.forget()
    output.forgetContent()
  }
}
