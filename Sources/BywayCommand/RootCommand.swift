import ArgumentParser
import Byway

/// `byway`
struct RootCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "byway",
    abstract: "HTTP over anything that carries bytes.",
    discussion: """
      A gateway on the device accepts HTTP on its links and forwards it to an origin. A proxy, or one request, at the \
      other end of a link reaches that origin as if it were on the network.
      """,
    subcommands: [
      GatewayCommand.self, ProxyCommand.self, RequestCommand.self, PingCommand.self, PortsCommand.self,
      TrustCommand.self, LineCommand.self, DemoCommand.self,
    ])

  init() {}

  /// Says what a misspelt command may have meant, which the parser does for options only.
  static func checkName(in arguments: [String]) throws {
    guard let name = arguments.first, !name.hasPrefix("-") else { return }
    let known = configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]
    guard !known.contains(name) else { return }
    throw CommandFailure(.usage, "Unknown command \"\(name)\".\(Spelling.hint(for: name, among: known))")
  }
}
