import CBywaySSH2
import NIOCore

/// The remote destination of a channel (RFC 4254 §6.5, §7.2, and OpenSSH's PROTOCOL file).
enum SSHDestination: Sendable, Hashable {
  case socket(path: String)
  case port(host: String, port: Int)
  case command(String)
}

/// A channel of a session (RFC 4254 §5). It must be freed, and not be used after its session has ended.
struct SSHChannel {
  /// The number of bytes that a server may send before they are read. OpenSSH uses 2 MiB; a larger window makes downloads over
  /// a long path faster.
  static let window = 4 * 1024 * 1024
  /// The maximum that libssh2 accepts in one packet.
  static let packetLength = 32_700

  let handle: OpaquePointer
  let session: SSHSession

  enum Stream: CInt {
    case data = 0
    case standardError = 1
  }

  enum Read {
    case bytes(ByteBuffer)
    /// No bytes are available now.
    case blocked
    /// The server has ended the stream.
    case end
  }

  /// Reads from a stream. This also processes the bytes that the session has received for every channel.
  func read(_ stream: Stream) throws(SSHError) -> Read {
    let buffer = session.scratch
    let count = libssh2_channel_read_ex(
      handle, stream.rawValue, buffer.bindMemory(to: CChar.self).baseAddress, buffer.count)
    if count > 0 { return .bytes(ByteBuffer(bytes: UnsafeRawBufferPointer(rebasing: buffer[..<count]))) }
    if count == LIBSSH2_ERROR_EAGAIN { return .blocked }
    try session.check(CInt(count))
    // A count of zero alone is not the end.
    return libssh2_channel_eof(handle) != 0 ? .end : .blocked
  }

  /// Sends the first bytes in one packet. After a result of 0, the next call must pass the same bytes again, and at least as
  /// many.
  func write(_ bytes: ByteBuffer) throws(SSHError) -> Int {
    let count = bytes.withUnsafeReadableBytes { bytes in
      libssh2_channel_write_ex(
        handle, 0, bytes.bindMemory(to: CChar.self).baseAddress, min(bytes.count, Self.packetLength))
    }
    if count == LIBSSH2_ERROR_EAGAIN { return 0 }
    try session.check(CInt(count))
    return count
  }

  /// The number of bytes that the server accepts now.
  var sendWindow: Int { Int(libssh2_channel_window_write_ex(handle, nil)) }

  /// Ends the direction to the server.
  func endOutput() throws(SSHError) -> Bool {
    try session.isDone(libssh2_channel_send_eof(handle))
  }

  /// Whether the server has closed the channel. Valid after the server's direction has ended.
  var isClosedByServer: Bool { libssh2_channel_wait_closed(handle) == 0 }

  /// Closes the channel and frees it. Returns `false` while the server's answer is pending.
  func free() -> Bool {
    libssh2_channel_free(handle) != LIBSSH2_ERROR_EAGAIN
  }

  // MARK: Commands

  func execute(_ command: String) throws(SSHError) -> Bool {
    try session.isDone(
      libssh2_channel_process_startup(handle, "exec", 4, command, CUnsignedInt(command.utf8.count)))
  }

  /// How a command ended.
  enum Exit: Equatable {
    case status(Int)
    case signal(String)
  }

  /// The exit of a command, which is known once the server has closed the channel. Without a report it counts as status 0.
  var exit: Exit {
    var name: UnsafeMutablePointer<CChar>?
    var count = 0
    if libssh2_channel_get_exit_signal(handle, &name, &count, nil, nil, nil, nil) == 0, let name {
      defer { libssh2_free(session.handle, name) }
      return .signal(String(cString: name).onOneLine)
    }
    return .status(Int(libssh2_channel_get_exit_status(handle)))
  }
}

// MARK: - Opening

extension SSHSession {
  /// Opens a channel. Returns `nil` while the answer is pending. Only one at a time.
  func open(_ destination: SSHDestination) throws(SSHError) -> SSHChannel? {
    var message = WireWriter()
    switch destination {
    case .command:
      return try open(type: "session", message)
    case .socket(let path):
      message.string(path.utf8)
      message.string("".utf8)
      message.uint32(0)
      return try open(type: "direct-streamlocal@openssh.com", message)
    case .port(let host, let port):
      message.string(host.utf8)
      message.uint32(UInt32(truncatingIfNeeded: port))
      // The source of the connection, which is this process.
      message.string("127.0.0.1".utf8)
      message.uint32(0)
      return try open(type: "direct-tcpip", message)
    }
  }

  /// Asks for a channel of a type that no server supports; the server must answer (RFC 4254 §5.1).
  /// - Returns: whether it has answered.
  func probe() throws(SSHError) -> Bool {
    do {
      return try open(type: "keepalive@byway", WireWriter()) != nil
    } catch  where error.isLocal {
      return true
    }
  }

  private func open(type: String, _ message: WireWriter) throws(SSHError) -> SSHChannel? {
    let channel = message.bytes.withUnsafeBytes { bytes in
      libssh2_channel_open_ex(
        handle, type, CUnsignedInt(type.utf8.count), CUnsignedInt(SSHChannel.window),
        CUnsignedInt(LIBSSH2_CHANNEL_PACKET_DEFAULT), bytes.bindMemory(to: CChar.self).baseAddress,
        CUnsignedInt(bytes.count))
    }
    if let channel { return SSHChannel(handle: channel, session: self) }
    let error = lastError
    if error.code == LIBSSH2_ERROR_EAGAIN { return nil }
    throw error
  }
}
