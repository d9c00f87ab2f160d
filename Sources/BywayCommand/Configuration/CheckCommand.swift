import ArgumentParser
import Byway

/// `byway check`
struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Says what is wrong with a configuration file of a gateway or a proxy.",
    discussion:
      "The file is a gateway's if it names an origin or has a section that begins with [gateway, else a proxy's.")

  @Argument(help: "The file.", completion: .file())
  var file: String

  init() {}

  func run() throws {
    if try isGateway() { try check(GatewayCommand.self) } else { try check(ProxyCommand.self) }
    try StandardStream.output.write("\(file) is valid.\n")
  }

  private func isGateway() throws -> Bool {
    let kinds = [GatewayCommand.Member.kind, ProxyCommand.Member.kind]
    let read = try ConfigurationFile(path: file, sections: kinds)
    if let section = read.sections.first { return section.kind == GatewayCommand.Member.kind }
    return read.entries.contains { $0.name == "origin" }
  }

  private func check<Command: DaemonCommand>(_: Command.Type) throws {
    let source = DaemonPlan<Command>.Source(
      file: file, arguments: ["--config", file], transports: CommandContext.transports)
    try source.read(given: Command.parse(source.arguments)).check()
  }
}
