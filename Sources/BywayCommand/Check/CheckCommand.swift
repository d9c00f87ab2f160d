import ArgumentParser
import Byway
import BywayDaemon
import BywayProxy
import BywayTerminal

/// `byway check`
struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Checks a configuration file of a gateway or a proxy.",
    discussion: """
      Whether the file is a gateway's or a proxy's shows in its sections and options, or else in its name: gateway.conf, \
      proxy-hall.conf. If neither shows it, use byway gateway --check --config FILE or byway proxy --check --config FILE.
      """)

  @Argument(help: "The file.", completion: .file())
  var file: String

  @Option(help: .value("URL", "Show the interceptors that a request for this URL passes, and where it goes."))
  var explain: String?

  @Option(help: .value("method", "The method of that request. (default: GET)"))
  var method: String?

  func validate() throws {
    if method != nil, explain == nil { throw ValidationError("--method is of the request of --explain: add that.") }
  }

  func run() throws {
    let text = try TextFile.read(file, ofUser: true)
    let explanation = try explain.map {
      try RequestExplanation(url: $0, method: method ?? "GET", CommandContext.transports)
    }
    var lines = ["\(file) is valid."]
    switch try kind(of: text) {
    case .gateway:
      let plan = try check(GatewayCommand.self, text)
      if let explanation { lines = try explanation.lines(of: plan) }
    case .proxy:
      let plan = try check(ProxyCommand.self, text)
      if let explanation { lines = try explanation.lines(of: plan) }
    }
    try StandardStream.output.write(lines.map { "\($0)\n" }.joined())
  }

  private enum Kind: String, CaseIterable {
    case gateway, proxy
  }

  private func kind(of text: String) throws(CommandFailure) -> Kind {
    let device = ProxyCommand.sharedSections?.kind ?? ""
    let read = ConfigurationFile(
      text, path: file, sections: Kind.allCases.map(\.rawValue) + [device, ProxyCommand.pluginSections])
    if let kind = read.sections.lazy.compactMap({ Kind(rawValue: $0.kind) }).first { return kind }
    if read.sections.contains(where: { $0.kind == device }) { return .proxy }
    let options = Set(read.entries.map { "--\($0.name)" })
    let gateways = ConfigurationReader<GatewayCommand>.optionNames
    let proxies = ConfigurationReader<ProxyCommand>.optionNames
    switch (
      options.isDisjoint(with: gateways.subtracting(proxies)), options.isDisjoint(with: proxies.subtracting(gateways))
    ) {
    case (false, true): return .gateway
    case (true, false): return .proxy
    // Only a gateway has an origin.
    case (false, false): return options.contains("--origin") ? .gateway : .proxy
    case (true, true): break
    }
    let name = file.split(separator: "/").last ?? ""
    if let kind = Kind.allCases.first(where: { name.hasPrefix($0.rawValue) }) { return kind }
    throw CommandFailure(
      .usage,
      "\(file) does not show whether it is a gateway's or a proxy's: run byway gateway --check --config \(file), or byway proxy."
    )
  }

  private func check<Command: DaemonCommand>(_: Command.Type, _ text: String) throws -> CommandPlan<Command> {
    let source = CommandPlan<Command>.Source(
      file: file, arguments: ["--config", file], transports: CommandContext.transports)
    let plan = try source.read(given: Command.parse(source.arguments), text: text)
    try plan.check(source.transports)
    return plan
  }
}
