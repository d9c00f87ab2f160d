import ArgumentParser
import Byway
import BywayGateway
import BywayTLS

/// What a gateway is told, on the command line or in a file.
struct GatewayOptions: ParsableArguments {
  @Option(help: "Accept HTTP on this link, an address or a name; may be repeated.", completion: .links)
  var link: [String] = []

  @Option(help: "Forward to http://HOST:PORT, https://HOST:PORT, h2c://HOST:PORT or unix:PATH.")
  var origin: String?

  @Option(help: ArgumentHelp("What clients may reach beside the origin; may be repeated.", valueName: "host:port"))
  var allow: [String] = []

  @OptionGroup(title: "Interception") var interceptors: InterceptorOptions

  @OptionGroup(title: "TLS of the origin") var peer: PeerOptions

  @Option(
    help: ArgumentHelp(
      "Go on through this HTTP proxy to the origin and to what is allowed.",
      valueName: "http://[user:password@]host:port"))
  var upstreamProxy: String?

  @Flag(help: "Add Forwarded (RFC 7239) to requests.")
  var forwarded = false

  @Option(
    help: ArgumentHelp(
      "How many links may be open at once. (default: 1024, or what the limit of open files allows)", valueName: "count")
  )
  var maxConnections: Int?

  @Option(help: ArgumentHelp("How long running requests may go on after SIGTERM. (default: 10)", valueName: "seconds"))
  var drain: Seconds?

  @Option(help: ArgumentHelp("How long a connection to the origin may take. (default: 10)", valueName: "seconds"))
  var connectTimeout: Seconds?

  @Option(help: ArgumentHelp("How long the origin may take to answer. (default: 60)", valueName: "seconds"))
  var responseTimeout: Seconds?

  @Option(
    help: ArgumentHelp(
      "How long the origin may pause within a body of declared length. (default: 300)", valueName: "seconds"))
  var bodyTimeout: Seconds?

  @Option(help: ArgumentHelp("How much to log. (default: info)", valueName: "level"))
  var logLevel: LogLevel?

  init() {}

  /// - Throws: ``CommandFailure`` or ``BywayError`` where something is missing or wrong.
  func configuration(transports: TransportRegistry) throws -> GatewayConfiguration {
    guard !link.isEmpty else {
      throw CommandFailure(.usage, "A gateway needs a link: add --link, for example --link unix:/run/byway.sock.")
    }
    guard let origin else {
      throw CommandFailure(.usage, "A gateway needs an origin: add --origin, for example --origin http://127.0.0.1:80.")
    }
    let links = try link.map { try transports.link(named: $0) }
    try links.forEach(Self.check)
    var configuration = GatewayConfiguration(links: links, origin: try Origin(origin))
    configuration.allowed = try allow.map(AllowRule.init)
    configuration.tls = try tlsPolicy(for: configuration.origin)
    configuration.upstreamProxy = try upstreamProxy.map(UpstreamProxy.init)
    configuration.addsForwarded = forwarded
    let descriptors = try DescriptorBudget(accepting: maxConnections)
    configuration.maximumConnections = descriptors.accepted
    configuration.maximumOriginConnections = min(configuration.maximumOriginConnections, descriptors.opened)
    if let connectTimeout { configuration.connectTimeout = connectTimeout.amount }
    if let responseTimeout { configuration.responseTimeout = responseTimeout.amount }
    if let bodyTimeout { configuration.bodyTimeout = bodyTimeout.amount }
    configuration.logger = (logLevel ?? .info).logger("byway.gateway")
    return configuration
  }

  private func tlsPolicy(for origin: Origin) throws -> TLSPolicy {
    guard peer.isEmpty || origin.speaksTLS else {
      throw CommandFailure(
        .usage,
        "--trust, --client-cert, --peer-name and --peer-address are for an origin of https://, not \(origin.text).")
    }
    return try peer.policy(for: origin.authority?.host.text ?? "")
  }

  private static func check(_ link: Link) throws {
    if link.framing == .http1 {
      throw CommandFailure(
        .usage, "\(link.address): a gateway speaks HTTP/2 on its links, http=1.1 is for the other end. Leave it out.")
    }
    if link.address[option: "insecure"] != nil {
      throw CommandFailure(.usage, "\(link.address): a gateway is not offered to everyone. Use tls:// with ?ca=….")
    }
  }
}
