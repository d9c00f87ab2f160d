/// A fault and its remedy.
package struct Diagnosis: Sendable {
  package let fault: LinkFault
  /// The sentence for the user, or two: the fault, and what to do.
  package let sentence: String
  /// The command that fixes the fault; `nil` if there is none.
  package let repair: Repair?
  /// The remedy that the doctor may apply.
  package let remedy: Remedy?

  /// A command that fixes a fault.
  package enum Repair: Sendable, Hashable {
    /// A command of the system.
    case run(String)
    /// An examination of a corrected link.
    case examine(link: String)
    /// A list of the ports of this machine.
    case listPorts
  }

  package init(_ fault: LinkFault, _ sentence: String, command: String? = nil, remedy: Remedy? = nil) {
    self.init(fault, sentence, repair: command.map { .run($0) }, remedy: remedy)
  }

  package init(_ fault: LinkFault, _ sentence: String, repair: Repair?, remedy: Remedy? = nil) {
    self.fault = fault
    self.sentence = sentence
    self.repair = repair
    self.remedy = remedy
  }

  /// The command that fixes the fault, if this program has it.
  package var command: String? {
    switch repair {
    case .run(let command): command
    case .examine(let link): Advice.examine(link: link).command
    case .listPorts: Advice.listPorts.command
    case nil: nil
    }
  }

  /// The sentence and the command on one line.
  package var line: String { line(command) }

  package func line(_ command: String?) -> String { command.map { "\(sentence) Run: \($0)" } ?? sentence }
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
