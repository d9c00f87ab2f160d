extension Authenticate {
  /// A user's name and password. Printing it does not show the password.
  public struct Credentials: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The user's name, as it is sent.
    public let user: String
    package let password: String

    /// A login.
    public init(user: String, password: String) {
      self.user = user
      self.password = password
    }

    public var description: String { "\(user):***" }
    public var customMirror: Mirror { Mirror(self, children: ["user": user]) }
  }

  /// Who asks for a login.
  public struct Realm: Sendable, Hashable {
    /// `http://device:8080`
    public let origin: String
    /// `device`
    public let host: String
    /// As the server calls what it protects; show it to the user.
    public let name: String
    /// Neither the password nor anything that it can be guessed from leaves in the clear: Digest, or any over `https`.
    public let hidesPassword: Bool
    /// Asked for by Digest, not by Basic.
    package let isDigest: Bool
  }
}
