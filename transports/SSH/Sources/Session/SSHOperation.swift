import NIOCore

/// An operation of libssh2 that waits for the server's answer. A session performs only one at a time.
final class SSHOperation {
  /// - Returns: whether the operation is done. If not, it is called again after more bytes have arrived.
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

  /// Adds an operation. It fails with ``SharedSession/Gone`` if the connection accepts no more.
  func enqueue(_ operation: SSHOperation) {
    guard isUsable else { return operation.fail(SharedSession.Gone()) }
    operations.append(operation)
    pump()
  }

  /// Gives up an operation at its deadline. An operation in progress cannot be withdrawn and would block all others; so they
  /// use another connection.
  func cancel(_ operation: SSHOperation) {
    if operations.first === operation { return retire() }
    operations.removeAll { $0 === operation }
  }
}
