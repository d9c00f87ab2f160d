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
    /// What follows a path's segment that is one of these, or ends in one behind a hyphen, underscore or dot, is a secret:
    /// `/reset-token/…`. In lower case.
    public var segments: Set<String>

    /// Rules of one's own; those left empty find nothing.
    /// - Parameters:
    ///   - words: parts of a secret's name, in lower case.
    ///   - parts: whole words of a secret's name, in lower case.
    ///   - parameters: whole names of parameters, in lower case.
    ///   - segments: segments of a path that a secret follows, in lower case.
    public init(
      words: Set<String>, parts: Set<String> = [], parameters: Set<String>, segments: Set<String> = []
    ) {
      self.words = words
      self.parts = parts
      self.parameters = parameters
      self.segments = segments
    }

    /// Knows `authorization`, `cookie`, `token`, `passw`, `secret` and a dozen more words, parts such as `pin` and `jwt`,
    /// parameters such as `key`, `sig` and `code`, and what follows `/token/`, `/secret/`, `/session/` and their like in a path.
    public static let defaults = Redaction(
      words: [
        "authorization", "cookie", "token", "secret", "passw", "passphrase", "api-key", "apikey", "api_key", "session",
        "signature", "credential", "private", "access-key", "access_key", "accesskey", "bearer", "csrf", "xsrf",
        "subscription-key",
      ],
      parts: ["auth", "pin", "otp", "totp", "mfa", "pwd", "pass", "jwt", "dpop"],
      parameters: [
        "key", "sig", "code", "pw", "sid", "ticket", "assertion", "client_assertion", "samlresponse", "samlrequest",
      ],
      segments: [
        "token", "secret", "password", "passwd", "passphrase", "apikey", "api-key", "api_key", "access-key",
        "access_key",
        "session", "sessionid", "signature", "jwt", "otp", "pin",
      ])

    /// Shows everything: the record is then worth as much as the passwords in it.
    public static let none = Redaction(words: [], parameters: [])
  }
}
