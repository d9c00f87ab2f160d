import BywayLibC

/// A file with an exclusive lock (`flock(2)`), for one object at a time in any process; unlocked and closed with its last reference.
package final class LockedFile: Sendable {
  package let descriptor: CInt

  /// - Parameter descriptor: closed by this object, even if this fails.
  /// - Returns: `nil` if another object has the lock.
  package init?(owning descriptor: CInt) {
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      return nil
    }
    self.descriptor = descriptor
  }

  deinit {
    // Closing is not enough: between its fork and its exec a child has a copy of the descriptor, and the lock with it.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
