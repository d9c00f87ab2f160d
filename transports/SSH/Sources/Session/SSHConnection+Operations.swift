extension SSHConnection {
  /// The connection has ended or accepts no more channels; the caller must use another one.
  struct Gone: Error {}

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

  /// Adds an operation. It fails with ``Gone`` if the connection accepts no more.
  func enqueue(_ operation: SSHOperation) {
    guard isUsable else { return operation.fail(Gone()) }
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
