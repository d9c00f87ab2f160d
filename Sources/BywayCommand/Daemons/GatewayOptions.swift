import ArgumentParser
import Byway
import BywayDaemon
import BywayDevices
import BywayGateway
import BywayProxy
import BywayTLS
import BywayTerminal
import Logging

/// The options of a gateway, on the command line or in a file.
struct GatewayOptions: MemberOptions {
  @Option(help: "Accept HTTP on this link, an address or a name; may be repeated.", completion: .links)
  var link: [String] = []

  @Option(
    help:
      "Forward to http://HOST[:PORT], PORT, HOST:PORT, https://HOST[:PORT], unix:PATH, h2c://HOST[:PORT] or h2c+unix:PATH."
  )
  var origin: String?

  @Option(
    help: .value(
      "host:port", "What clients may reach besides the origin: HOST:PORT, HOST:* or *.DOMAIN:PORT; may be repeated."))
  var allow: [String] = []

  @Option(help: .allowUpgrade)
  var allowUpgrade: [String] = []

  @Option(
    help: .value(
      "name", "The device's name of letters, digits and hyphens, which /.well-known/byway states and a proxy can show.")
  )
  var name: String?

  @Option(help: .value("text", "The title that users see next to the name: \"Printer in the hall\"."))
  var title: String?

  @OptionGroup(title: "Interception") var interceptors: InterceptorOptions

  @OptionGroup(title: "TLS of the origin") var peer: PeerOptions

  @Option(
    help: .value(
      "http://[user:password@]host:port", "Connect to the origin and to what is allowed through this HTTP proxy."))
  var upstreamProxy: String?

  @Option(
    help: .value(
      "host",
      "The Host that the origin sees: client for the name that the client uses, origin for the origin's own, or HOST[:PORT]. (default: client)"
    ))
  var hostField: String?

  @Flag(help: "Spell field names as X-Serial, not x-serial, towards HTTP/1.1 origins that compare case.")
  var titleCase = false

  @Flag(help: "Add Forwarded (RFC 7239) to requests.")
  var forwarded = false

  @Option(
    help: .value("count", "How many links may be open at once. (default: 1024, or what the limit of open files allows)")
  )
  var maxConnections: Int?

  @Option(help: .value("seconds", "How long a connection to the origin may take. (default: 10)"))
  var connectTimeout: Seconds?

  @Option(help: .value("seconds", "How long the origin may take to answer. (default: 60)"))
  var responseTimeout: Seconds?

  @Option(
    help: .value("seconds", "How long the origin may pause within a body of declared length. (default: 300)"))
  var bodyTimeout: Seconds?

  func links(of configuration: GatewayConfiguration) -> [OptionLink] {
    zip(link, configuration.links).map { text, link in
      OptionLink(option: "--link", value: text, link: link, opening: link.opening ?? .listen)
    }
  }

  func checks(in transports: TransportRegistry) -> [OptionCheck] { interceptors.checks(in: transports) }

  /// - Throws: ``CommandFailure`` or ``BywayError`` if something is missing or wrong.
  func configuration(transports: TransportRegistry, logger: Logger) throws -> GatewayConfiguration {
    guard !link.isEmpty else {
      throw CommandFailure(.usage, "A gateway needs a link: add --link, for example --link unix:/run/byway.sock.")
    }
    guard let originText = origin else {
      throw CommandFailure(.usage, "A gateway needs an origin: add --origin, for example --origin http://127.0.0.1:80.")
    }
    let origin = try OptionValue.of("--origin") { try OriginArgument.origin(originText) }
    try interceptors.check(transports: transports)
    _ = try interceptors.chain(at: .gateway, hasCache: false, in: transports)
    var configuration = GatewayConfiguration(links: try links(in: transports), origin: origin)
    configuration.allowed = try allowRules()
    configuration.allowedUpgrades = try UpgradeProtocol.allowed(allowUpgrade)
    configuration.claim = try claim()
    configuration.tls = try tlsPolicy(for: origin)
    configuration.upstreamProxy = try proxy()
    if let hostField = try host() { configuration.hostField = hostField }
    configuration.capitalizesFieldNames = titleCase
    configuration.addsForwarded = forwarded
    let descriptors = try DescriptorBudget(accepting: maxConnections)
    configuration.maximumConnections = descriptors.accepted
    configuration.maximumOriginConnections = min(configuration.maximumOriginConnections, descriptors.opened)
    if let connectTimeout { configuration.connectTimeout = connectTimeout.duration }
    if let responseTimeout { configuration.responseTimeout = responseTimeout.duration }
    if let bodyTimeout { configuration.bodyTimeout = bodyTimeout.duration }
    configuration.logger = logger
    return configuration
  }

  func interception(of configuration: GatewayConfiguration, with files: InterceptionFiles) throws -> Interception {
    try interceptors.interception(
      at: .gateway, upgrades: configuration.allowedUpgrades, with: files, logger: configuration.logger)
  }

  private func tlsPolicy(for origin: Origin) throws -> TLSPolicy {
    guard peer.isEmpty || origin.speaksTLS else {
      throw CommandFailure(
        .usage,
        "--trust, --client-cert, --peer-name and --peer-address are for an origin of https://, not \(origin.text).")
    }
    return try peer.policy(for: origin.authority?.host.text ?? "")
  }

  /// Checks the given values that the parser leaves as text.
  func check(transports: TransportRegistry) throws {
    _ = try links(in: transports)
    try interceptors.check(transports: transports)
    if let origin { _ = try OptionValue.of("--origin") { try OriginArgument.origin(origin) } }
    _ = try allowRules()
    _ = try UpgradeProtocol.allowed(allowUpgrade)
    _ = try proxy()
    _ = try host()
    _ = try deviceName()
    _ = try deviceTitle()
    try DescriptorBudget.check(maxConnections)
  }

  private func links(in transports: TransportRegistry) throws -> [Link] {
    try link.map { text in
      try OptionValue.of("--link") {
        let link = try transports.link(named: text)
        try Self.check(link)
        return link
      }
    }
  }

  private func allowRules() throws -> [AllowRule] {
    try allow.map { text in try OptionValue.of("--allow") { try AllowRule(text) } }
  }

  private func claim() throws -> DeviceClaim? {
    guard let name = try deviceName() else {
      guard title == nil else { throw CommandFailure(.usage, "--title is shown next to a name: add --name.") }
      return nil
    }
    return DeviceClaim(name: name, title: try deviceTitle())
  }

  private func deviceName() throws -> DeviceName? {
    try name.map { text in
      do throws(NameProblem) { return try DeviceName.selfGiven(text) } catch {
        throw CommandFailure(.usage, "--name: \(text.debugDescription) \(error).")
      }
    }
  }

  private func deviceTitle() throws -> DeviceText? {
    try title.map { text in
      guard let title = DeviceText(text) else {
        throw CommandFailure(.usage, "--title takes up to 128 characters that can be shown, on one line.")
      }
      return title
    }
  }

  private func host() throws -> HostField? {
    try hostField.map { text in try OptionValue.of("--host-field") { try HostField(text) } }
  }

  private func proxy() throws -> UpstreamProxy? {
    try upstreamProxy.map { text in try OptionValue.of("--upstream-proxy") { try UpstreamProxy(text) } }
  }

  private static func check(_ link: Link) throws {
    if link.framing == .http1 {
      throw CommandFailure(
        .usage,
        "\(link.address): a gateway always speaks HTTP/2 on its links, and http=1.1 is for the other end: leave it out."
      )
    }
    if link.address[option: "insecure"] != nil {
      throw CommandFailure(.usage, "\(link.address): a gateway must not be open to everyone: use tls:// with ?ca=….")
    }
  }
}
