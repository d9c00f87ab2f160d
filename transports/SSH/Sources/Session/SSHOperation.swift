import NIOCore

/// Something that libssh2 does one at a time for a session, and that waits for the server's answer.
final class SSHOperation {
  /// - Returns: whether it is done; else it is called again after more has arrived.
  let attempt: () throws(SSHError) -> Bool
  let fail: (any Error) -> Void

  init(attempt: @escaping () throws(SSHError) -> Bool, fail: @escaping (any Error) -> Void) {
    self.attempt = attempt
    self.fail = fail
  }
}

extension SSHConnection {
  func attemptOperations() throws(SSHError) {
    while let operation = operations.first {
      do {
        guard try operation.attempt() else { return }
        if operations.first === operation { operations.removeFirst() }
      } catch  where error.isLocal {
        if operations.first === operation { operations.removeFirst() }
        operation.fail(error)
      }
    }
  }

  /// Fails it with ``SharedSession/Gone`` where the connection takes nothing more.
  func enqueue(_ operation: SSHOperation) {
    guard isUsable else { return operation.fail(SharedSession.Gone()) }
    operations.append(operation)
    pump()
  }

  /// At its deadline nobody waits for it any more. One that is under way cannot be taken back, and would hold up all others:
  /// they go to another connection.
  func giveUp(_ operation: SSHOperation) {
    if operations.first === operation { return retire() }
    operations.removeAll { $0 === operation }
  }
}
