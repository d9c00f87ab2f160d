import ArgumentParser
import BywayPrimitives

/// The parser's description of a command and its subcommands.
struct CommandFacts {
  let name: String
  let abstract: String
  let discussion: String
  let arguments: [ArgumentFacts]
  let subcommands: [CommandFacts]

  /// Returns `nil` if the parser's description has an unexpected form.
  init?(_ command: any ParsableCommand.Type) {
    guard let json = JSON(parsing: command._dumpHelp())?["command"] else { return nil }
    self.init(json)
  }

  private init?(_ json: JSON) {
    guard let name = json["commandName"]?.text else { return nil }
    self.name = name
    abstract = json["abstract"]?.text ?? ""
    discussion = json["discussion"]?.text ?? ""
    arguments = (json["arguments"]?.elements ?? []).compactMap(ArgumentFacts.init).filter(\.isShown)
    subcommands = (json["subcommands"]?.elements ?? []).filter { $0["shouldDisplay"]?.isTrue ?? true }
      .compactMap(CommandFacts.init).filter { $0.name != "help" }
  }
}
