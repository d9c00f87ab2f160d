package import Byway
import BywayDaemonProcess
import BywayDevices
package import BywayGateway
package import BywayTLS
import BywayTerminal
package import Logging

/// The values of a gateway's options, as users write them. The command and byway-gateway read them from their arguments.
package struct GatewaySettings: Sendable {
  package var links: [String] = []
  package var origin: String?
  package var allow: [String] = []
  package var allowUpgrade: [String] = []
  package var name: String?
  package var title: String?
  package var peer = PeerSettings()
  package var upstreamProxy: String?
  package var hostField: String?
  package var titleCase = false
  package var forwarded = false
  package var maxConnections: Int?
  package var connectTimeout: Seconds?
  package var responseTimeout: Seconds?
  package var bodyTimeout: Seconds?

  package init() {}

  /// Returns the origin.
  /// - Throws: ``CommandFailure`` or `BywayError` if it is missing or wrong, or if there is no link.
  package func target() throws -> Origin {
    guard !links.isEmpty else {
      throw CommandFailure(.usage, "A gateway needs a link: add --link, for example --link unix:/run/byway.sock.")
    }
    guard let origin else {
      throw CommandFailure(.usage, "A gateway needs an origin: add --origin, for example --origin http://127.0.0.1:80.")
    }
    return try OptionValue.of("--origin") { try OriginArgument.origin(origin) }
  }

  /// Returns the configuration. Reads the files that the options name, and changes nothing but the limit of open files.
  /// - Parameters:
  ///   - origin: ``target()``
  ///   - stored: The certificates and keys that are trusted besides those of these options; `nil` if there are none.
  ///   - link: Finds the link that a text means.
  /// - Throws: ``CommandFailure`` or `BywayError` if something is wrong.
  package func configuration(
    to origin: Origin, trusting stored: () throws -> ServerTrust?, logger: Logger, link: (String) throws -> Link
  ) throws -> GatewayConfiguration {
    var configuration = GatewayConfiguration(links: try links(link), origin: origin)
    configuration.allowed = try allowRules()
    configuration.allowedUpgrades = try UpgradeProtocol.allowed(allowUpgrade)
    configuration.claim = try claim()
    configuration.tls = try policy(for: origin, trusting: stored)
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

  /// Checks the values that are there, each by itself.
  package func check(link: (String) throws -> Link) throws {
    _ = try links(link)
    if let origin { _ = try OptionValue.of("--origin") { try OriginArgument.origin(origin) } }
    _ = try allowRules()
    _ = try UpgradeProtocol.allowed(allowUpgrade)
    _ = try proxy()
    _ = try host()
    _ = try deviceName()
    _ = try deviceTitle()
    try DescriptorBudget.check(maxConnections)
  }

  private func policy(for origin: Origin, trusting stored: () throws -> ServerTrust?) throws -> TLSPolicy {
    guard peer.isEmpty || origin.speaksTLS else {
      throw CommandFailure(
        .usage,
        "--trust, --client-cert, --peer-name and --peer-address are for an origin of https://, not \(origin.text).")
    }
    return try peer.policy(for: origin.authority?.host.text ?? "", trusting: stored())
  }

  private func links(_ read: (String) throws -> Link) throws -> [Link] {
    try links.map { text in
      try OptionValue.of("--link") {
        let link = try read(text)
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
