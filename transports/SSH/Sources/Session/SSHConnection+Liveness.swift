import Byway
import NIOCore

/// Whether the server is still there. A connection that is used, and silent, is asked.
extension SSHConnection {
  func watch() {
    livenessTimer.set(lastHeard + limits.silence)
  }

  /// While it is used: a connection that merely waits for the next link is closed anyway.
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
      // libssh2's own keep-alive would leave an answer in its queue for every question.
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
