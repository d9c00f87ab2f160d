import Glibc
import Primitives

/// The lock that keeps two programs off one line. The kernel undoes it however the holder ends.
///
/// It is advice, which Byway, picocom, minicom and others look for. `TIOCEXCL` besides keeps out those that do not, but
/// not the superuser.
enum PortLock {
  /// - Throws: ``SerialFailure/inUse(_:by:)``.
  static func take(_ descriptor: CInt, path: String) throws {
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
    guard errno == EWOULDBLOCK else {
      throw SerialFailure.unusable(path, "it cannot be locked: \(SystemError.last)")
    }
    throw SerialFailure.inUse(path, by: RunningProcess(holding: path))
  }
}
