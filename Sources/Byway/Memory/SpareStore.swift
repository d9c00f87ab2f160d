/// A store of records that nothing depends on, such as an inspector's. It drops them when memory is short, before any exchange has to
/// wait or is refused.
///
/// It reports its bytes by ``MemoryBudget/changeSpare(by:)``, outside its locks.
package protocol SpareStore: AnyObject, Sendable {
  /// Drops records of about that many bytes, the oldest first, and reports the change. Any thread.
  func release(_ bytes: Int)
}
