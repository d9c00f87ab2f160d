internal import Glibc

/// What a system call says, in its words.
struct SystemError: Error, CustomStringConvertible {
  let code: CInt

  var description: String { String(cString: strerror(code)) }

  static func check(_ result: CInt) throws(SystemError) {
    if result < 0 { throw SystemError(code: errno) }
  }
}
