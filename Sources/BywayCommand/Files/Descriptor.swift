import Glibc
import NIOCore

/// The system calls on files, with interrupted and partial ones continued. They block: not for event loops.
enum Descriptor {
  /// What the system says, in its words.
  struct Failure: Error, CustomStringConvertible {
    let code: CInt

    var description: String { String(cString: strerror(code)) }
  }

  static func open(_ path: String, _ flags: CInt, mode: mode_t = 0o666) throws(Failure) -> CInt {
    while true {
      let descriptor = Glibc.open(path, flags | O_CLOEXEC, mode)
      if descriptor >= 0 { return descriptor }
      if errno != EINTR { throw Failure(code: errno) }
    }
  }

  /// What there is, at most `limit` bytes; `nil` at the end.
  static func read(_ descriptor: CInt, upTo limit: Int) throws(Failure) -> ByteBuffer? {
    var buffer = ByteBufferAllocator().buffer(capacity: limit)
    while true {
      var failure: CInt = 0
      let count = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: limit) { bytes in
        let count = Glibc.read(descriptor, bytes.baseAddress, limit)
        if count < 0 { failure = errno }
        return max(count, 0)
      }
      if failure == 0 { return count > 0 ? buffer : nil }
      try recover(from: failure, descriptor, waitingFor: POLLIN)
    }
  }

  static func write(_ bytes: ByteBuffer, to descriptor: CInt) throws(Failure) {
    var rest = bytes
    while rest.readableBytes > 0 {
      var failure: CInt = 0
      let count = rest.withUnsafeReadableBytes { bytes in
        let count = Glibc.write(descriptor, bytes.baseAddress, bytes.count)
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
