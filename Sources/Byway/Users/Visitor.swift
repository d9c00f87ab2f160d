/// Who sends a request.
package enum Visitor: Sendable, Hashable {
  /// Nobody asks who it is.
  case anyone
  case user(UserName, by: Proof)

  /// How it is known who it is.
  package enum Proof: String, Sendable, Hashable {
    case certificate, password
    /// A reverse proxy says so.
    case header
  }

  package var name: UserName? {
    if case .user(let name, _) = self { name } else { nil }
  }
}
