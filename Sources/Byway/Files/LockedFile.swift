import Glibc

/// A file that one object at a time has, of this process or another (`flock(2)`); let go and closed with its last
/// reference.
package final class LockedFile: Sendable {
  package let descriptor: CInt

  /// - Parameter descriptor: closed by this object, also where this fails.
  /// - Returns: `nil` where somebody else has the file.
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
