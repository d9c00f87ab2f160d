/// The assignment of running members to the members of a new plan.
enum MemberMatch {
  typealias Party = (name: String, places: [String])

  /// Finds a predecessor for each member of a plan: first by name and place, then by place alone, then by name alone. Thus a
  /// section can be renamed, and two sections can swap places.
  /// - Returns: For each member of the plan the index of its predecessor; `nil` if it has none.
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
