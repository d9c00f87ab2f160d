import BywayPrimitives

extension Diagnosis {
  /// Diagnoses a program whose standard streams are the link: it may print a greeting or an error message there.
  /// - Returns: `nil` if the error has another cause.
  package init?(chatterOf program: String, _ error: BywayError) {
    guard let words = error.evidence as? UnexpectedBytes, words.unexpectedPeer == nil || words.unexpectedPeer == .login
    else {
      return nil
    }
    self.init(
      .chatter,
      "\(program) prints text instead of HTTP/2 to its standard output, which is the link: "
        + "\(String(quoting: words.heard, limit: 60)). Keep it silent there (a greeting, a shell's start-up files, a warning), or "
        + "let it print to its standard error.")
  }
}
