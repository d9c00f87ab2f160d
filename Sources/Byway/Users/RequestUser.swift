/// The sender of a request.
package enum RequestUser: Sendable, Hashable {
  /// Users are not identified.
  case anyone
  case user(UserName, by: Proof)

  /// The proof of a user's identity.
  package enum Proof: String, Sendable, Hashable {
    case certificate, password
    /// A field set by a reverse proxy.
    case header
  }

  package var name: UserName? {
    if case .user(let name, _) = self { name } else { nil }
  }
}
