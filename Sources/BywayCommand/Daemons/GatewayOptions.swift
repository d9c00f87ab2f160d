import ArgumentParser
import Byway
import BywayDaemon
import BywayGateway
import BywayGatewayProgram
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

  /// The values of the options that byway-gateway has as well.
  private var settings: GatewaySettings {
    var settings = GatewaySettings()
    settings.links = link
    settings.origin = origin
    settings.allow = allow
    settings.allowUpgrade = allowUpgrade
    settings.name = name
    settings.title = title
    settings.peer = peer.settings
    settings.upstreamProxy = upstreamProxy
    settings.hostField = hostField
    settings.titleCase = titleCase
    settings.forwarded = forwarded
    settings.maxConnections = maxConnections
    settings.connectTimeout = connectTimeout
    settings.responseTimeout = responseTimeout
    settings.bodyTimeout = bodyTimeout
    return settings
  }

  func links(of configuration: GatewayConfiguration) -> [OptionLink] {
    zip(link, configuration.links).map { text, link in
      OptionLink(option: "--link", value: text, link: link, opening: link.opening ?? .listen)
    }
  }

  func checks(in transports: TransportRegistry) -> [OptionCheck] { interceptors.checks(in: transports) }

  /// - Throws: ``CommandFailure`` or ``BywayError`` if something is missing or wrong.
  func configuration(transports: TransportRegistry, logger: Logger) throws -> GatewayConfiguration {
    let settings = settings
    let origin = try settings.target()
    try interceptors.check(transports: transports)
    _ = try interceptors.chain(at: .gateway, hasCache: false, in: transports)
    return try settings.configuration(to: origin, trusting: PeerOptions.stored, logger: logger) {
      try transports.link(named: $0)
    }
  }

  func interception(of configuration: GatewayConfiguration, with files: InterceptionFiles) throws -> Interception {
    try interceptors.interception(
      at: .gateway, upgrades: configuration.allowedUpgrades, with: files, logger: configuration.logger)
  }

  /// Checks the given values that the parser leaves as text.
  func check(transports: TransportRegistry) throws {
    try interceptors.check(transports: transports)
    try settings.check { try transports.link(named: $0) }
  }
}
