/// The responses that are being saved. A save owns the files of its response until it ends: if the cache removes the response
/// meanwhile, the save deletes them.
struct PendingSaves {
  enum Next {
    case nothing
    /// The head has changed since the save began.
    case saveAgain
    case delete
  }

  private enum State {
    case saving
    case outdated
    case removed
  }

  private var states: [UInt64: State] = [:]

  var isEmpty: Bool { states.isEmpty }

  /// Begins to save a response that the cache has.
  /// - Returns: `false` if a save of it is running already. That one then writes the new head.
  mutating func begin(_ id: UInt64) -> Bool {
    if states[id] == nil {
      states[id] = .saving
      return true
    }
    states[id] = .outdated
    return false
  }

  /// Ends a save, successful or not.
  /// - Returns: The next action of its owner. A save that must be repeated has begun again.
  mutating func end(_ id: UInt64) -> Next {
    switch states.removeValue(forKey: id) {
    case .saving, nil: return .nothing
    case .removed: return .delete
    case .outdated:
      states[id] = .saving
      return .saveAgain
    }
  }

  /// Marks the responses that the cache has removed.
  /// - Returns: Those whose files can be deleted now.
  mutating func markRemoved(_ ids: [UInt64]) -> [UInt64] {
    ids.filter { id in
      if states[id] == nil { return true }
      states[id] = .removed
      return false
    }
  }
}
