import BywayLibC
import BywayPrimitives

/// The lock that prevents two programs from using the same line. The kernel releases it however its holder ends.
///
/// It is an advisory lock that Byway, picocom, minicom and others respect. `TIOCEXCL` also blocks programs that do not, but not
/// the superuser.
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
