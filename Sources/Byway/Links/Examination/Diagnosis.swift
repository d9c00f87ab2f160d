/// A fault and its remedy.
package struct Diagnosis: Sendable {
  package let fault: LinkFault
  /// The sentence for the user, or two: the fault, and what to do.
  package let sentence: String
  /// The command that fixes the fault; `nil` if there is none.
  package let command: String?
  /// The remedy that the doctor may apply.
  package let remedy: Remedy?

  package init(_ fault: LinkFault, _ sentence: String, command: String? = nil, remedy: Remedy? = nil) {
    self.fault = fault
    self.sentence = sentence
    self.command = command
    self.remedy = remedy
  }

  /// The sentence and the command on one line.
  package var line: String { command.map { "\(sentence) Run: \($0)" } ?? sentence }
}

/// A harmless action that fixes a fault.
package struct Remedy: Sendable {
  /// The question to ask first, if the action affects other users or programs: "Stop the login on /dev/ttyUSB0?"
  package let question: String?
  /// Applies the remedy.
  /// - Returns: a sentence about the result; `nil` if it failed.
  package let apply: @Sendable () async -> String?

  package init(question: String? = nil, apply: @escaping @Sendable () async -> String?) {
    self.question = question
    self.apply = apply
  }
}
