/// Which of those that run becomes which of a plan.
enum MemberMatch {
  typealias Party = (name: String, places: [String])

  /// The one of its name, if that listens there as well; else one that listens there, so that a section can be renamed and
  /// places be swapped; else the one of its name.
  /// - Returns: for each of the plan the place of its predecessor; `nil` where it has none.
  static func predecessors(of plan: [Party], among running: [Party]) -> [Int?] {
    var left = Array(running.indices)
    var found = [Int?](repeating: nil, count: plan.count)
    func pair(where fits: (Party, Party) -> Bool) {
      for index in plan.indices where found[index] == nil {
        guard let place = left.firstIndex(where: { fits(running[$0], plan[index]) }) else { continue }
        found[index] = left.remove(at: place)
      }
    }
    func isThere(_ one: Party, _ other: Party) -> Bool { !Set(one.places).isDisjoint(with: other.places) }
    pair { $0.name == $1.name && isThere($0, $1) }
    pair { isThere($0, $1) }
    pair { $0.name == $1.name }
    return found
  }
}
