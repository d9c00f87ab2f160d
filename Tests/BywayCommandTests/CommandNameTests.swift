import ArgumentParser
import Testing

@testable import BywayCommand

@Suite struct CommandNameTests {
  /// To derive a name from a type, the parser looks up the type's conformances, which costs half a millisecond of every start.
  @Test("every command has an explicit name") func names() {
    func check(_ commands: [any ParsableCommand.Type]) {
      for command in commands {
        #expect(command.configuration.commandName != nil, "\(command)")
        check(command.configuration.subcommands)
      }
    }
    check([RootCommand.self])
  }
}
