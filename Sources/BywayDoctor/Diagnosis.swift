/// What is wrong, and what mends it.
package struct Diagnosis: Sendable {
  package let fault: Fault
  /// One or two sentences for people: what is wrong, and what to do.
  package let sentence: String
  /// What to type, as it is; `nil` where no command mends it.
  package let command: String?
  /// What `--fix` may do about it.
  package let remedy: Remedy?

  package init(_ fault: Fault, _ sentence: String, command: String? = nil, remedy: Remedy? = nil) {
    self.fault = fault
    self.sentence = sentence
    self.command = command
    self.remedy = remedy
  }

  /// On one line, with the command at its end.
  package var line: String { command.map { "\(sentence) Run: \($0)" } ?? sentence }
}

/// Something harmless that mends a fault.
package struct Remedy: Sendable {
  /// Where it takes something from somebody, the question to ask first: "Stop the login on /dev/ttyUSB0?"
  package let question: String?
  /// Does it.
  /// - Returns: what was done, in a sentence; `nil` where it could not be.
  package let apply: @Sendable () async -> String?

  package init(question: String? = nil, apply: @escaping @Sendable () async -> String?) {
    self.question = question
    self.apply = apply
  }
}
