import BywayLibC

/// System calls, repeated after a signal, or after another process has made a shared descriptor non-blocking. They block: not for
/// event loops.
package enum Descriptor {
  /// - Parameter folder: The descriptor that a relative path starts from.
  package static func open(
    _ path: String, _ flags: CInt, mode: UInt32 = 0o666, in folder: CInt = AT_FDCWD
  ) throws(SystemError) -> CInt {
    while true {
      let descriptor = openat(folder, path, flags | O_CLOEXEC, mode)
      if descriptor >= 0 { return descriptor }
      if errno != EINTR { throw .last }
    }
  }

  /// Reads the available bytes, as far as they fit.
  /// - Parameter position: The position in a file; `nil` for the end of the previous call.
  /// - Returns: The number of bytes; 0 at the end.
  package static func read(
    _ descriptor: CInt, into bytes: UnsafeMutableRawBufferPointer, at position: Int? = nil
  ) throws(SystemError) -> Int {
    while true {
      let count =
        position.map { pread(descriptor, bytes.baseAddress, bytes.count, $0) }
        ?? BywayLibC.read(descriptor, bytes.baseAddress, bytes.count)
      if count >= 0 { return count }
      try recover(from: .last, descriptor, waitingFor: POLLIN)
    }
  }

  /// Reads from the end of the previous call to the end of the file, or up to a number of bytes.
  package static func read(_ descriptor: CInt, upTo limit: Int) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: min(limit, 1 << 16))
    while bytes.count < limit {
      let outcome = chunk.withUnsafeMutableBytes { chunk in
        Result { () throws(SystemError) in
          try read(descriptor, into: UnsafeMutableRawBufferPointer(rebasing: chunk.prefix(limit - bytes.count)))
        }
      }
      let count = try outcome.get()
      if count == 0 { break }
      bytes += chunk[..<count]
    }
    return bytes
  }

  /// Writes all bytes.
  /// - Parameter position: The position in a file; `nil` for the end of the previous call.
  package static func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: CInt, at position: Int? = nil
  ) throws(SystemError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest)
      let written = bytes.count - rest.count
      let count =
        position.map { pwrite(descriptor, piece.baseAddress, piece.count, $0 + written) }
        ?? BywayLibC.write(descriptor, piece.baseAddress, piece.count)
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else {
        try recover(from: .last, descriptor, waitingFor: POLLOUT)
      }
    }
  }

  package static func write(_ bytes: [UInt8], to descriptor: CInt, at position: Int? = nil) throws(SystemError) {
    let outcome = bytes.withUnsafeBytes { bytes in
      Result { () throws(SystemError) in try write(bytes, to: descriptor, at: position) }
    }
    try outcome.get()
  }

  package static func write(_ text: String, to descriptor: CInt, at position: Int? = nil) throws(SystemError) {
    try write(Array(text.utf8), to: descriptor, at: position)
  }

  /// Recovers from a signal, or from EAGAIN: another process that shares a terminal or a pipe may have made it non-blocking.
  private static func recover(
    from failure: SystemError, _ descriptor: CInt, waitingFor events: CInt
  ) throws(SystemError) {
    switch failure.code {
    case EINTR:
      break
    case EAGAIN:
      var ready = pollfd(fd: descriptor, events: Int16(events), revents: 0)
      poll(&ready, 1, -1)
    default:
      throw failure
    }
  }
}
