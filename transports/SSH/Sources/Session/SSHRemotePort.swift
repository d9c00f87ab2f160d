import CBywaySSH2

/// A remote port on which the server listens for this session (RFC 4254 §7.1). It must be cancelled.
struct SSHRemotePort {
  let handle: OpaquePointer
  let session: SSHSession
  let number: Int

  /// Returns the channel of the next connection, if there is one.
  func accept() throws(SSHError) -> SSHChannel? {
    if let channel = libssh2_channel_forward_accept(handle) { return SSHChannel(handle: channel, session: session) }
    let error = session.lastError
    if error.code == LIBSSH2_ERROR_EAGAIN || error.code == LIBSSH2_ERROR_CHANNEL_UNKNOWN { return nil }
    throw error
  }

  func cancel() -> Bool {
    libssh2_channel_forward_cancel(handle) != LIBSSH2_ERROR_EAGAIN
  }
}

extension SSHSession {
  /// Has the server listen on a port. Returns `nil` while the answer is pending. Only one at a time.
  ///
  /// - Parameter queue: the number of connections that may wait to be accepted.
  func listen(host: String, port: Int, queue: Int) throws(SSHError) -> SSHRemotePort? {
    var bound: CInt = 0
    guard let listener = libssh2_channel_forward_listen_ex(handle, host, CInt(port), &bound, CInt(queue)) else {
      let error = lastError
      if error.code == LIBSSH2_ERROR_EAGAIN { return nil }
      throw error
    }
    return SSHRemotePort(handle: listener, session: self, number: Int(bound))
  }
}
