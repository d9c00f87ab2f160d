import BywayPrimitives

extension JSON {
  /// Returns the reason why an object has a member that nothing reads, such as a misspelt one; `nil` if it has none.
  func unknownMember(besides known: [String]) -> String? {
    guard case .object(let members) = self, let unknown = members.first(where: { !known.contains($0.name) }) else {
      return nil
    }
    return "\"\(unknown.name.visible)\" is unknown: write \(known.joined(separator: ", "))"
  }
}
