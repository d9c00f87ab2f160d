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
