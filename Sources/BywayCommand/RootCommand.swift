import ArgumentParser
import Byway
import BywayPrimitives
import BywayTerminal

/// `byway`
struct RootCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "byway",
    abstract: "HTTP over anything that carries bytes.",
    discussion: """
      A gateway on the device accepts HTTP on its links and forwards it to an origin. A proxy, or one request, at the \
      other end of a link reaches that origin as if it were on the network.

      Without arguments in a terminal, byway shows the daemons that run, the adapters that are plugged in, and what to try next.
      """,
    version: "byway \(Release.version)",
    subcommands: [
      GatewayCommand.self, ProxyCommand.self, RequestCommand.self, PingCommand.self, DoctorCommand.self,
      PortsCommand.self, LinksCommand.self, StatusCommand.self, ReloadCommand.self, StopCommand.self,
      LogLevelCommand.self, CheckCommand.self, TrustCommand.self, CertificateCommand.self, LineCommand.self,
      PushCommand.self,
      BrowserCommand.self, DemoCommand.self,
      ManualCommand.self,
    ])

  /// Suggests a name for a misspelt command, which the parser does for options only. The parser takes `help nonsuch` for `help`.
  static func checkName(in arguments: [String]) throws {
    let asksForHelp = arguments.first == "help"
    var commands = configuration.subcommands
    var path = "byway"
    for name in asksForHelp ? arguments.dropFirst() : arguments.prefix(1) {
      guard !name.hasPrefix("-"), !commands.isEmpty else { return }
      if let command = commands.first(where: { $0._commandName == name }) {
        commands = command.configuration.subcommands
        path += " \(name)"
        continue
      }
      let known =
        commands.filter { $0.configuration.shouldDisplay }.map { $0._commandName } + (path == "byway" ? ["help"] : [])
      throw CommandFailure(
        .usage, "Unknown command \"\(name)\".\(Spelling.hint(for: name, among: known)) Try: \(path) --help")
    }
  }
}
