import Byway

/// The limit of content held for all requests whose user is not known yet: any client may send any number of them.
///
/// The accounts of their connections count these bytes within the ``MemoryBudget``, until the content is passed on. So this refuses
/// content that would make others lose theirs.
///
/// Lives on the proxy's event loop.
final class HeldContent {
  private let budget: MemoryBudget
  private var bytes = 0

  init(within budget: MemoryBudget = .shared) {
    self.budget = budget
  }

  /// Half of the budget. Requests of known users are not held, so this is needed only while passwords are checked.
  private var most: Int { budget.limit / 2 }

  /// - Returns: whether there was room.
  func take(_ count: Int) -> Bool {
    guard bytes + count <= most, !budget.isExhausted else { return false }
    bytes += count
    return true
  }

  func release(_ count: Int) {
    bytes -= count
  }
}
