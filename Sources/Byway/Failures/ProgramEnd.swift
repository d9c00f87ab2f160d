/// The exit of a program whose standard streams were the link: additional evidence of an error.
package struct ProgramEnd: Sendable, Hashable {
  package enum Exit: Sendable, Hashable {
    case status(Int32)
    /// The signal's name or number: `KILL`, `9`.
    case signal(String)
  }

  package let exit: Exit
  /// The last text on its standard error.
  package let lastWords: String?
  /// Whether anything arrived over the link before.
  package let hasSent: Bool

  package init(_ exit: Exit, lastWords: String?, hasSent: Bool) {
    self.exit = exit
    self.lastWords = lastWords
    self.hasSent = hasSent
  }
}
