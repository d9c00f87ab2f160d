import Byway
import BywayLibC
import CBywaySSH2
import NIOCore
import NIOPosix
import Synchronization

/// libssh2 as a state machine: bytes in and out, without I/O and without waiting.
///
/// A call that needs more bytes returns `nil` or `false`. It must be repeated with the same arguments after ``receive(_:)``.
/// Lives on one event loop.
final class SSHSession {
  /// The fixed size of each read. During a key exchange, a read of another size would corrupt libssh2's accounting of the
  /// window. A size of more than half of the window would enlarge the window.
  static let readLength = 64 * 1024

  let handle: OpaquePointer
  private var inbound = CircularBuffer<ByteBuffer>()
  private var outbound = ByteBuffer()
  /// The bytes that arrive while another thread uses libssh2; `nil` while this one does.
  private var held: [ByteBuffer]?
  /// Whether every call fails from now on, so that freeing never waits.
  private var isBroken = false
  private var lastWords: String?
  let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: readLength, alignment: 16)
  /// The signer of a login in progress.
  var signer: Signer?
  var keyboard: KeyboardLogin?

  /// - Throws: ``SSHError`` where there is no memory.
  init(preferredHostKeys: [String]) throws(SSHError) {
    Self.library
    guard let handle = libssh2_session_init_ex(nil, nil, nil, nil) else {
      throw SSHError(code: LIBSSH2_ERROR_ALLOC, text: "no memory for a session")
    }
    self.handle = handle
    libssh2_session_abstract(handle)?.pointee = Unmanaged.passUnretained(self).toOpaque()
    libssh2_session_set_blocking(handle, 0)
    ssh_set_callbacks(
      handle,
      { _, bytes, count, _, owner in SSHSession.of(owner)?.send(bytes, count) ?? -Int(EPIPE) },
      { _, buffer, count, _, owner in SSHSession.of(owner)?.take(into: buffer, count) ?? -Int(EPIPE) },
      { _, _, message, count, _, _, owner in
        guard let message, count > 0 else { return }
        let bytes = UnsafeRawBufferPointer(start: message, count: Int(count))
        SSHSession.of(owner)?.lastWords = String(decoding: bytes.prefix(500), as: UTF8.self).onOneLine
      })
    for (method, names) in SSHAlgorithms.offer(preferring: preferredHostKeys) {
      try check(libssh2_session_method_pref(handle, method, names.joined(separator: ",")))
    }
  }

  deinit {
    isBroken = true
    // libssh2 may still ask to wait while some state is left. This ends soon, as every call fails now.
    var tries = 0
    while libssh2_session_free(handle) == LIBSSH2_ERROR_EAGAIN, tries < 100 { tries += 1 }
    scratch.deallocate()
  }

  private static let library: Void = {
    ssh_keep_crypto_at_exit()
    libssh2_init(0)
    // Decrypting a key may take seconds, and continues after its link was given up. exit would tear down library state in use there,
    // and libssh2 does not check whether a digest could be created. So end the process without that.
    on_exit(
      { status, _ in
        guard SSHSession.callsElsewhere.load(ordering: .sequentiallyConsistent) > 0 else { return }
        fflush(nil)
        _exit(status)
      }, nil)
  }()
  /// The number of calls in progress on other threads.
  private static let callsElsewhere = Atomic(0)

  static func of(_ owner: UnsafeMutablePointer<UnsafeMutableRawPointer?>?) -> SSHSession? {
    owner?.pointee.map { Unmanaged<SSHSession>.fromOpaque($0).takeUnretainedValue() }
  }

  // MARK: The transport

  func receive(_ bytes: ByteBuffer) {
    guard bytes.readableBytes > 0 else { return }
    if held == nil { inbound.append(bytes) } else { held?.append(bytes) }
  }

  var pendingOutput: Int { outbound.readableBytes }

  func takeOutput() -> ByteBuffer? {
    guard held == nil, outbound.readableBytes > 0 else { return nil }
    defer { outbound = ByteBuffer() }
    return outbound
  }

  /// Accepts all bytes: libssh2 does not allow a partly sent packet.
  private func send(_ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    guard !isBroken, let bytes else { return -Int(EPIPE) }
    return outbound.writeBytes(UnsafeRawBufferPointer(start: bytes, count: count))
  }

  private func take(into buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    guard !isBroken, let buffer else { return -Int(EPIPE) }
    var taken = 0
    while taken < count, let first = inbound.first {
      let piece = min(count - taken, first.readableBytes)
      first.withUnsafeReadableBytes { bytes in
        UnsafeMutableRawBufferPointer(start: buffer + taken, count: piece).copyMemory(
          from: .init(rebasing: bytes[..<piece]))
      }
      taken += piece
      inbound[inbound.startIndex].moveReaderIndex(forwardBy: piece)
      if inbound[inbound.startIndex].readableBytes == 0 { inbound.removeFirst() }
    }
    return taken > 0 ? taken : -Int(EAGAIN)
  }

  /// The server's reason for a disconnect (RFC 4253 §11.1).
  var farewell: String? { held == nil ? lastWords : nil }

  // MARK: Another thread

  /// Makes a long call on another thread. Until it completes, the session may only receive bytes, which are held, and be asked
  /// for its output and ``farewell``, which are empty meanwhile.
  ///
  /// - Returns: the result, and whether bytes have arrived meanwhile. A result of `nil` did not consider those.
  func onAnotherThread<Value: Sendable>(
    _ eventLoop: any EventLoop, _ body: @escaping @Sendable (SSHSession) throws(SSHError) -> Value
  ) -> EventLoopFuture<(Result<Value, SSHError>, hasMore: Bool)> {
    held = []
    // This thread uses only `held` before the future completes, and the callbacks do not use that.
    nonisolated(unsafe) let session = self
    return NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) {
      Self.callsElsewhere.add(1, ordering: .sequentiallyConsistent)
      defer { Self.callsElsewhere.subtract(1, ordering: .sequentiallyConsistent) }
      return Result { () throws(SSHError) in try body(session) }
    }
    .assumeIsolated().map { result in
      let held = self.held ?? []
      self.held = nil
      for bytes in held { self.receive(bytes) }
      return (result, !held.isEmpty)
    }.nonisolated()
  }

  // MARK: The beginning

  /// Performs the identifications, the key exchange, and the request for the login service.
  /// - Returns: whether it is done.
  func handshake() throws(SSHError) -> Bool {
    // Not a valid descriptor: libssh2 would make a real one non-blocking.
    try isDone(libssh2_session_handshake(handle, .max))
  }

  var hostKey: [UInt8]? {
    var count = 0
    var type: CInt = 0
    guard let key = libssh2_session_hostkey(handle, &count, &type), count > 0 else { return nil }
    return Array(UnsafeRawBufferPointer(start: key, count: count))
  }

  /// The negotiated key exchange, host key, encryption and integrity algorithms, for the log.
  var agreement: String {
    [LIBSSH2_METHOD_KEX, LIBSSH2_METHOD_HOSTKEY, LIBSSH2_METHOD_CRYPT_SC, LIBSSH2_METHOD_MAC_SC]
      .compactMap { libssh2_session_methods(handle, $0).map { String(cString: $0) } }
      .joined(separator: ", ")
  }

  /// Sends a disconnect message (RFC 4253 §11.1).
  func disconnect() {
    _ = libssh2_session_disconnect_ex(handle, SSH_DISCONNECT_BY_APPLICATION, "Done", "")
  }

  // MARK: Results

  var lastError: SSHError {
    var text: UnsafeMutablePointer<CChar>?
    let code = libssh2_session_last_error(handle, &text, nil, 0)
    return SSHError(code: code, text: text.map { String(cString: $0) } ?? "")
  }

  /// Returns `false` if the call would have to wait.
  func isDone(_ code: CInt) throws(SSHError) -> Bool {
    if code == LIBSSH2_ERROR_EAGAIN { return false }
    try check(code)
    return true
  }

  func check(_ code: CInt) throws(SSHError) {
    guard code < 0 else { return }
    let last = lastError
    throw last.code == code ? last : SSHError(code: code, text: "")
  }
}

extension String {
  /// A server's text, made safe for messages and logs: a terminal must not interpret it.
  var onOneLine: String {
    visible.trimmingSpaces
  }

  private var trimmingSpaces: String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
