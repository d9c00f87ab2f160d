import CBywayNGHTTP2
package import NIOCore

extension HTTP2Session {
  /// The latest time to call ``handleTimeout(at:)``.
  package var nextDeadline: NIODeadline? { timers.next }

  package func handleTimeout(at now: NIODeadline) {
    self.now = now
    while !phase.hasFailed, let timer = timers.popExpired(at: now) {
      switch timer {
      case .settings: settingsTimedOut()
      case .headerBlock: fail(.unresponsive, .enhanceYourCalm, "The peer began a frame and did not finish it in time.")
      case .idle: goAway()
      case .ping: checkLiveness()
      case .pong: peerIsSilent()
      }
    }
  }

  private func settingsTimedOut() {
    if let failure = preface.unsettled("nothing more") {
      fail(failure)
    } else {
      fail(
        preface.isSettled ? .unresponsive : .silent, .settingsTimeout,
        "The peer did not acknowledge our SETTINGS in time.")
    }
  }

  /// Starts the liveness timer. It runs while a stream is open, or if a configured interval keeps the idle link open. Otherwise
  /// nothing waits for the peer.
  func watchLiveness() {
    guard let interval = pingInterval else { return }
    let due = activity.lastReceived + interval
    timers[.ping] = min(timers[.ping] ?? due, due)
  }

  /// Returns to the shorter PING interval, because the peer sends heads or bodies.
  func endQuiet() {
    guard activity.endQuiet() else { return }
    timers[.ping] = nil
    watchLiveness()
  }

  private func checkLiveness() {
    guard let interval = pingInterval else { return }
    // Until the peer has answered anything, the SETTINGS timer counts instead: a link may take long to come up.
    if !activity.isProven { return timers[.ping] = now + interval }
    let due = activity.lastReceived + interval
    guard due <= now else { return timers[.ping] = due }
    if timers[.pong] == nil { timers[.pong] = now + configuration.timeouts.pingAnswer + delayBySent }
    activity.probed()
    _ = sendPing(.liveness)
    timers[.ping] = now + (pingInterval ?? interval)
  }

  private var pingInterval: TimeAmount? {
    let timeouts = configuration.timeouts
    if streams.isEmpty { return timeouts.idlePingInterval }
    return timeouts.pingInterval.map { activity.isQuiet ? timeouts.quietPingInterval ?? $0 : $0 }
  }

  /// The additional time for a PING: it is queued behind the bytes in the link's buffers, and the peer may read them slowly.
  private var delayBySent: TimeAmount {
    let delay = activity.sentIntoSilence / Self.slowestBytesPerMillisecond
    return min(configuration.timeouts.pingDelay, .milliseconds(Int64(delay)))
  }

  private static let slowestBytesPerMillisecond = 32

  private func peerIsSilent() {
    let silence = (now - activity.lastReceived).nanoseconds / 1_000_000_000
    fail(
      .unresponsive, .noError,
      "Nothing has come for \(silence) s, not even the answer to a PING: the far end hangs, or the link is dead.")
  }

  /// Starts the idle timer, which runs while no stream is open.
  func watchIdleness() {
    guard let idle = configuration.timeouts.idle, phase.isRunning else { return }
    if !streams.isEmpty {
      timers[.idle] = nil
    } else if timers[.idle] == nil {
      timers[.idle] = now + idle
    }
  }

  func sendPing(_ purpose: PingTracker.Purpose) -> Bool {
    guard !phase.hasFailed, let number = pings.start(purpose, at: now) else { return false }
    let result = withUnsafeBytes(of: number) { bytes in
      nghttp2_submit_ping(
        engine, Engine.noFlags, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }
    accept(result)
    return result == 0
  }
}
