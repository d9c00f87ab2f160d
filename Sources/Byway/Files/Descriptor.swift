import Glibc
package import NIOCore

/// Calls of the system, made again where a signal or somebody who shares the descriptor gets in between. They block: not
/// for event loops.
package enum Descriptor {
  /// What the system says, in its words.
  package struct Failure: Error, CustomStringConvertible {
    package let code: CInt

    package init(code: CInt) {
      self.code = code
    }

    package var description: String { String(cString: strerror(code)) }
  }

  /// - Parameter folder: the descriptor that a relative path starts from.
  package static func open(
    _ path: String, _ flags: CInt, mode: UInt32 = 0o666, in folder: CInt = AT_FDCWD
  ) throws(Failure) -> CInt {
    while true {
      let descriptor = openat(folder, path, flags | O_CLOEXEC, mode)
      if descriptor >= 0 { return descriptor }
      if errno != EINTR { throw Failure(code: errno) }
    }
  }

  /// What there is, at most `limit` bytes; `nil` at the end.
  /// - Parameter position: in a file; `nil`: where the call before has ended.
  package static func read(
    _ descriptor: CInt, upTo limit: Int, at position: Int? = nil
  ) throws(Failure) -> ByteBuffer? {
    var buffer = ByteBufferAllocator().buffer(capacity: limit)
    while true {
      var failure: CInt = 0
      let count = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: limit) { bytes in
        let count =
          position.map { pread(descriptor, bytes.baseAddress, limit, $0) }
          ?? Glibc.read(descriptor, bytes.baseAddress, limit)
        if count < 0 { failure = errno }
        return max(count, 0)
      }
      if failure == 0 { return count > 0 ? buffer : nil }
      try recover(from: failure, descriptor, waitingFor: POLLIN)
    }
  }

  /// All of them.
  /// - Parameter position: in a file; `nil`: where the call before has ended.
  package static func write(_ bytes: ByteBuffer, to descriptor: CInt, at position: Int? = nil) throws(Failure) {
    var rest = bytes
    while rest.readableBytes > 0 {
      var failure: CInt = 0
      let written = rest.readerIndex - bytes.readerIndex
      let count = rest.withUnsafeReadableBytes { bytes in
        let count =
          position.map { pwrite(descriptor, bytes.baseAddress, bytes.count, $0 + written) }
          ?? Glibc.write(descriptor, bytes.baseAddress, bytes.count)
        if count < 0 { failure = errno }
        return max(count, 0)
      }
      if failure != 0 { try recover(from: failure, descriptor, waitingFor: POLLOUT) }
      rest.moveReaderIndex(forwardBy: count)
    }
  }

  /// Another process that shares a terminal or a pipe may have made it non-blocking: EAGAIN.
  private static func recover(
    from failure: CInt, _ descriptor: CInt, waitingFor events: CInt
  ) throws(Failure) {
    switch failure {
    case EINTR:
      break
    case EAGAIN:
      var ready = pollfd(fd: descriptor, events: Int16(events), revents: 0)
      poll(&ready, 1, -1)
    default:
      throw Failure(code: failure)
    }
  }
}
