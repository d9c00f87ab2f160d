import Byway
import NIOCore

/// Checks that the server is alive: a connection in use is probed after a silence.
extension SSHConnection {
  func watch() {
    livenessTimer.set(lastHeard + limits.silence)
  }

  /// Probes the server while the connection is in use. A connection that only waits for the next link closes anyway.
  func checkLiveness() {
    guard case .ready = phase else { return }
    let now = NIODeadline.now()
    if lastHeard + limits.silence > now || !isUsed {
      probed = nil
      livenessTimer.set((isUsed ? lastHeard : now) + limits.silence)
    } else if let asked = probed, asked >= lastHeard {
      end(failure.unresponsive(now - lastHeard))
    } else if operations.isEmpty {
      probed = now
      livenessTimer.set(now + limits.answer)
      let session = session
      // libssh2's own keep-alive would leave an answer in its queue for each probe.
      operations.append(
        SSHOperation { () throws(SSHError) in
          try session.probe()
        } fail: { _ in
        })
      pump()
    } else {
      livenessTimer.set(now + limits.answer)
    }
  }
}
