/// The responses that are being saved. A save owns the files of its response until it ends, so that nothing deletes them
/// under it: what the cache forgets meanwhile is deleted by the save.
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
    case forgotten
  }

  private var states: [UInt64: State] = [:]

  var isEmpty: Bool { states.isEmpty }

  /// Begins to save a response that the cache has.
  /// - Returns: `false` where a save of it runs already. That one takes in the new head.
  mutating func begin(_ id: UInt64) -> Bool {
    if states[id] == nil {
      states[id] = .saving
      return true
    }
    states[id] = .outdated
    return false
  }

  /// Ends a save, successful or not.
  /// - Returns: what its owner must do. A save that is to run again has begun.
  mutating func end(_ id: UInt64) -> Next {
    switch states.removeValue(forKey: id) {
    case .saving, nil: return .nothing
    case .forgotten: return .delete
    case .outdated:
      states[id] = .saving
      return .saveAgain
    }
  }

  /// Takes the responses that the cache has forgotten.
  /// - Returns: those whose files can be deleted now.
  mutating func forget(_ ids: [UInt64]) -> [UInt64] {
    ids.filter { id in
      if states[id] == nil { return true }
      states[id] = .forgotten
      return false
    }
  }
}
