/// How a program ended whose standard streams were the link: what an error knows beyond its message.
package struct ProgramEnd: Sendable, Hashable {
  package enum Exit: Sendable, Hashable {
    case status(Int32)
    /// By its name or number: `KILL`, `9`.
    case signal(String)
  }

  package let exit: Exit
  /// What it wrote last to its standard error.
  package let lastWords: String?
  /// Whether anything came over the link before.
  package let hasSent: Bool

  package init(_ exit: Exit, lastWords: String?, hasSent: Bool) {
    self.exit = exit
    self.lastWords = lastWords
    self.hasSent = hasSent
  }
}
