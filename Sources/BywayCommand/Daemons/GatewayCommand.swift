import ArgumentParser
import Byway
import BywayGateway

/// `byway gateway`
struct GatewayCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gateway",
    abstract: "Runs on the device: accepts HTTP on its links and forwards it to an origin.",
    discussion: """
      Without --allow, a client can reach the origin and nothing else. SIGTERM and SIGINT stop it gracefully; a second \
      signal stops it at once.
      """)

  @OptionGroup var options: GatewayOptions

  @Option(
    help: ArgumentHelp(
      "Read options from a file of \"name = value\" lines. Options on the command line override those in the file.",
      valueName: "file"), completion: .file())
  var config: String?

  init() {}

  func run() async throws {
    let options =
      try config.map {
        try GatewayOptions(
          ConfigurationFile(path: $0), beneath: CommandContext.arguments, transports: CommandContext.transports)
      } ?? options
    var configuration = try options.configuration(transports: CommandContext.transports)
    let interception = try options.interceptors.interception(at: .gateway, logger: configuration.logger)
    configuration.interceptors = interception.before(configuration.interceptors)
    let service = DaemonService(drain: options.drain ?? Seconds(10)) { [configuration] in
      let gateway = try await Gateway.start(configuration)
      return (gateway, Self.readyLine(configuration.links, gateway.addresses))
    }
    try await service.runToEnd(logger: configuration.logger)
    await interception.finish()
  }
}

extension GatewayCommand {
  /// Where it listens it is ready; where it dials, that is for the log to say, because the far end may not be there.
  static func readyLine(_ links: [Link], _ addresses: [LinkAddress]) -> String {
    func places(_ dials: Bool) -> String {
      zip(links, addresses).filter { ($0.0.opening == .dial) == dials }.map(\.1.text).joined(separator: " ")
    }
    let (listening, dialing) = (places(false), places(true))
    if dialing.isEmpty { return "byway: gateway ready on \(listening)" }
    return "byway: gateway \(listening.isEmpty ? "started" : "ready on \(listening)"), dials \(dialing)"
  }
}

extension Gateway: Daemon {}

extension GatewayOptions {
  /// - Parameter arguments: of the same `byway gateway`, which count more than the file, option by option.
  /// - Throws: ``CommandFailure``, which names the line.
  init(_ file: ConfigurationFile, beneath arguments: [String] = [], transports: TransportRegistry) throws {
    let read = try file.arguments(for: Self.self, besides: arguments) { try $0.check(transports: transports) }
    self = try GatewayCommand.parse(read + arguments).options
  }
}
