import ArgumentParser
import Primitives

/// What the parser knows of a command, and of those below it.
struct CommandFacts {
  let name: String
  let abstract: String
  let discussion: String
  let arguments: [ArgumentFacts]
  let subcommands: [CommandFacts]

  /// `nil` where the parser describes itself in another way than this expects.
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
