package import Byway
import BywayPrimitives

extension Diagnosis {
  /// The command line that fixes the fault; `nil` if there is none.
  package var commandLine: String? { repair?.commandLine }

  /// The sentence and the command on one line.
  package var fullLine: String { line(commandLine) }
}

extension Diagnosis.Repair {
  package var commandLine: String {
    switch self {
    case .run(let command): command
    case .examine(let link): "byway doctor \(ShellWord.of(link))"
    case .listPorts: "byway ports"
    }
  }
}
