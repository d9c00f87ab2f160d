extension Authenticate {
  /// A user's name and password. Printing it does not show the password.
  public struct Credentials: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The user's name, as it is sent.
    public let user: String
    package let password: String

    /// Creates the credentials of a login.
    public init(user: String, password: String) {
      self.user = user
      self.password = password
    }

    public var description: String { "\(user):***" }
    public var customMirror: Mirror { Mirror(self, children: ["user": user]) }
  }

  /// A server that asks for a login.
  public struct Realm: Sendable, Hashable {
    /// The server's origin: `http://device:8080`.
    public let origin: String
    /// The server's host: `device`.
    public let host: String
    /// The server's name for what it protects; show it to the user.
    public let name: String
    /// Whether the password is not sent in the clear: with Digest, even over `http`, or with any scheme over `https`. A listener on an
    /// `http` connection can still test guesses of a Digest password.
    public let hidesPassword: Bool
    /// Whether the server asks for Digest, not for Basic.
    package let isDigest: Bool
  }
}
