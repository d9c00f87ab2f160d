extension Trace {
  /// What of an exchange is a secret, by the names of fields and of parameters in queries, forms and JSON.
  public struct Redaction: Sendable, Hashable {
    /// What stands in a secret's place.
    package static let mark = "[redacted]"

    /// A name that has one of these in it names a secret. In lower case.
    public var words: Set<String>
    /// So does one that has one of these between its hyphens, underscores and dots: `pin` is in `X-Pin`, not in `shipping`.
    /// In lower case.
    public var parts: Set<String>
    /// So does a parameter, not a field, whose whole name is one of these. In lower case.
    public var parameters: Set<String>

    /// Rules of one's own; those left empty find nothing.
    /// - Parameters:
    ///   - words: parts of a secret's name, in lower case.
    ///   - parts: whole words of a secret's name, in lower case.
    ///   - parameters: whole names of parameters, in lower case.
    public init(words: Set<String>, parts: Set<String> = [], parameters: Set<String>) {
      self.words = words
      self.parts = parts
      self.parameters = parameters
    }

    /// Knows `authorization`, `cookie`, `token`, `passw`, `secret` and a dozen more words, parts such as `pin` and `otp`,
    /// and the parameters `key`, `sig` and `code`.
    public static let defaults = Redaction(
      words: [
        "authorization", "cookie", "token", "secret", "passw", "passphrase", "api-key", "apikey", "api_key", "session",
        "signature", "credential", "private", "access-key", "access_key", "accesskey",
      ],
      parts: ["auth", "pin", "otp", "totp", "mfa", "pwd", "pass"], parameters: ["key", "sig", "code"])

    /// Shows everything: the record is then worth as much as the passwords in it.
    public static let none = Redaction(words: [], parameters: [])
  }
}
