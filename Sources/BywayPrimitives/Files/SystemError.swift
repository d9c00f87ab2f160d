import BywayLibC

/// The error of a system call, with the system's message.
package struct SystemError: Error, Sendable, Hashable {
  package let code: CInt

  package init(code: CInt) {
    self.code = code
  }

  /// The error of the last call on this thread.
  package static var last: SystemError { SystemError(code: errno) }

  /// Returns the pending error of a socket (SO_ERROR), which reading it clears: 0 if there is none.
  package static func pending(on descriptor: CInt) throws(SystemError) -> SystemError {
    var (code, size) = (CInt(0), socklen_t(MemoryLayout<CInt>.size))
    try check(getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size))
    return SystemError(code: code)
  }

  /// - Parameter result: Negative if the call has failed.
  @discardableResult
  package static func check(_ result: CInt) throws(SystemError) -> CInt {
    if result < 0 { throw last }
    return result
  }
}

extension SystemError: CustomStringConvertible {
  package var description: String { String(cString: strerror(code)) }
}
