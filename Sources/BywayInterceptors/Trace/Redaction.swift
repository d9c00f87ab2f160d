extension Trace {
  /// The rules by which parts of an exchange are secrets: by the names of fields and of parameters in queries, forms and JSON.
  public struct Redaction: Sendable, Hashable {
    /// The text in place of a secret.
    package static let mark = "[redacted]"

    /// Words anywhere in a name that make it the name of a secret. In lower case.
    public var words: Set<String>
    /// Words between the hyphens, underscores and dots of a name that make it the name of a secret: `pin` matches `X-Pin`, but not
    /// `shipping`. In lower case.
    public var parts: Set<String>
    /// Whole names of secret parameters; they do not apply to fields. In lower case.
    public var parameters: Set<String>
    /// Segments of a path that a secret follows, as in `/reset-token/…`. They match a whole segment, or its end after a hyphen,
    /// underscore or dot. In lower case.
    public var segments: Set<String>

    /// Creates custom rules; an empty set finds nothing.
    /// - Parameters:
    ///   - words: Parts of a secret's name, in lower case.
    ///   - parts: Whole words of a secret's name, in lower case.
    ///   - parameters: Whole names of parameters, in lower case.
    ///   - segments: Segments of a path that a secret follows, in lower case.
    public init(
      words: Set<String>, parts: Set<String> = [], parameters: Set<String>, segments: Set<String> = []
    ) {
      self.words = words
      self.parts = parts
      self.parameters = parameters
      self.segments = segments
    }

    /// The default rules: `authorization`, `cookie`, `token`, `passw`, `secret` and a dozen more words, parts such as `pin` and
    /// `jwt`, parameters such as `key`, `sig` and `code`, and what follows `/token/`, `/secret/`, `/session/` and the like in a
    /// path.
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

    /// Rules that find nothing: the record must then be protected like the passwords in it.
    public static let none = Redaction(words: [], parameters: [])
  }
}
