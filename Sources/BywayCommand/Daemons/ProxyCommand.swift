import ArgumentParser
import Byway
import BywayInterceptors
import BywayProxy

/// `byway proxy`
struct ProxyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "proxy",
    abstract: "Runs at the user's end: what arrives on one port goes over the link.",
    discussion: """
      Serves HTTP/1.1 and HTTP/2 with prior knowledge, CONNECT and WebSocket. A URL on the proxy itself means the \
      gateway's origin; as an HTTP proxy it reaches what the gateway allows.
      """)

  @OptionGroup var link: LinkOptions

  @Option(help: ArgumentHelp("Where clients connect: 127.0.0.1:PORT or unix:PATH. (required)", valueName: "address"))
  var listen: String?

  @Flag(help: "Allow --listen on an address that other machines reach. Anyone who reaches it can use the link.")
  var listenAnywhere = false

  @Option(
    help: ArgumentHelp(
      "A name by which users reach the proxy, besides localhost; any other Host is refused. May be repeated.",
      valueName: "host[:port]"))
  var name: [String] = []

  @Option(
    help: ArgumentHelp(
      "Web pages of this origin may use the proxy; those of others are refused. May be repeated.",
      valueName: "http://host[:port]"))
  var allowPage: [String] = []

  @OptionGroup(title: "Interception") var interceptors: InterceptorOptions

  @Option(
    help: ArgumentHelp(
      "Cache responses in this folder: for one user if --listen is a Unix socket of theirs, "
        + "otherwise only what is meant for everybody.", valueName: "folder"), completion: .directory)
  var cache: String?

  @OptionGroup(title: "Decrypting https") var inspection: InspectionOptions

  @Option(
    help: ArgumentHelp(
      "How many clients may be connected at once. (default: 1024, or what the limit of open files allows)",
      valueName: "count"))
  var maxConnections: Int?

  @Option(help: ArgumentHelp("How long a request waits for a link that is down.", valueName: "seconds"))
  var linkTimeout = Seconds(5)

  @Option(help: ArgumentHelp("How long running requests may go on after SIGTERM.", valueName: "seconds"))
  var drain = Seconds(10)

  @Option(help: ArgumentHelp("How much to log.", valueName: "level"))
  var logLevel = LogLevel.info

  init() {}

  func run() async throws {
    var configuration = try proxyConfiguration(transports: CommandContext.transports)
    let kind: Cache.Kind = configuration.listen.isForOneUser ? .private : .shared
    let interception = try interceptors.interception(
      at: .client, over: configuration.link.framing, cache: cache.map { ($0, kind, configuration.link.address) },
      logger: configuration.logger)
    configuration.interceptors = interception.before(configuration.interceptors)
    let service = DaemonService(drain: drain) { [configuration] in
      let proxy = try await Proxy.start(configuration)
      return (proxy, "byway: proxy ready on \(ListenAddress.url(proxy.address)) → \(proxy.linkAddress)")
    }
    try await service.runToEnd(logger: configuration.logger)
    await interception.finish()
  }

  /// - Throws: ``CommandFailure`` or ``BywayError`` where something is wrong.
  func proxyConfiguration(transports: TransportRegistry) throws -> ProxyConfiguration {
    let link = try link.link(in: transports)
    guard let listen else {
      throw CommandFailure(
        .usage, "No address is given for clients: add --listen, for example --listen 127.0.0.1:8080.")
    }
    var configuration = ProxyConfiguration(
      link: link,
      listen: try ListenAddress(listen).link(in: transports, anywhere: listenAnywhere))
    if configuration.listen.opening == .dial {
      throw CommandFailure(
        .usage, "--listen \(listen): open=dial is for links, and a proxy has to wait for its clients.")
    }
    configuration.names = name
    configuration.allowedPages = allowPage
    configuration.maximumConnections = try DescriptorBudget(accepting: maxConnections).accepted
    configuration.patience = linkTimeout.amount
    configuration.logger = logLevel.logger("byway.proxy")
    try inspection.apply(to: &configuration)
    return configuration
  }
}

extension Proxy: Daemon {}
