import ArgumentParser
import Byway
import BywayDaemon
import BywayDaemonProcess
import BywayGatewayProgram
import BywayInterceptors
import BywayProxy
import BywayTerminal
import Logging

/// The options of a proxy, on the command line or in a file.
struct ProxyOptions: MemberOptions {
  @OptionGroup var link: LinkOptions

  @OptionGroup(title: "Devices by name") var devices: DeviceOptions

  @Option(
    help: .value(
      "address",
      "Where clients connect: PORT or 127.0.0.1:PORT, unix:PATH, fd:NAME, or https://HOST:PORT?cert=FILE&key=FILE, with &ca=FILE "
        + "for those of other machines. (required)"))
  var listen: String?

  @Flag(help: "Allow --listen on an address that other machines reach. Anyone who reaches it can use the link.")
  var listenAnywhere = false

  @Option(
    help: .value(
      "host[:port]",
      "A name by which users reach the proxy, besides localhost; any other Host is refused. May be repeated."))
  var name: [String] = []

  @Option(
    help: .value(
      "http://host[:port]", "Web pages of this origin may use the proxy; those of others are refused. May be repeated.")
  )
  var allowPage: [String] = []

  @Option(help: .allowUpgrade)
  var allowUpgrade: [String] = []

  @OptionGroup(title: "Users") var users: UserOptions

  @OptionGroup(title: "Interception") var interceptors: InterceptorOptions

  @Option(
    help: .value(
      "folder",
      "Cache responses in this folder: for one user if --listen is a Unix socket of theirs, "
        + "otherwise only what is meant for all users."), completion: .directory)
  var cache: String?

  @OptionGroup(title: "Decrypting https") var tlsInterception: TLSInterceptionOptions

  @Option(
    help: .value(
      "count", "How many clients may be connected at once. (default: 1024, or what the limit of open files allows)"))
  var maxConnections: Int?

  @Option(help: .value("seconds", "How long a request waits for a link that is down. (default: 5)"))
  var linkTimeout: Seconds?

  static var lists: Set<String> { ["--device", "--device-title"] }

  mutating func set(_ list: String, to values: [String]) {
    switch list {
    case "--device": devices.device = values
    case "--device-title": devices.deviceTitle = values
    default: break
    }
  }

  func links(of configuration: ProxyConfiguration) -> [OptionLink] {
    var links = [
      OptionLink(option: "--listen", value: listen, link: configuration.listen, opening: .listen)
    ]
    links += configuration.devices.main.map {
      OptionLink(option: "--link", value: link.link, link: $0, opening: $0.opening ?? .dial)
    }
    // Two names with the same links mean the same device.
    var known = Set(configuration.devices.main.map(\.address.text))
    let byName = Dictionary(grouping: devices.device) { $0.prefix { $0 != "=" } }
    for device in configuration.devices.devices {
      let texts = byName[device.name.description[...]] ?? []
      for (index, link) in device.links.enumerated() where known.insert(link.address.text).inserted {
        let text = texts.count == device.links.count ? texts[index] : texts.first
        links.append(OptionLink(option: "--device", value: text, link: link, opening: link.opening ?? .dial))
      }
    }
    for (text, link) in zip(devices.hub, configuration.devices.hubs) {
      links.append(OptionLink(option: "--hub", value: text, link: link, opening: .listen))
    }
    return links
  }

  func checks(in transports: TransportRegistry) -> [OptionCheck] {
    interceptors.checks(in: transports) + users.checks + OptionCheck.writing(folder: cache, "--cache")
  }

  /// Checks the given values that the parser leaves as text.
  func check(transports: TransportRegistry) throws {
    if link.link != nil { _ = try link.link(in: transports) }
    try devices.check(in: transports)
    try interceptors.check(transports: transports)
    if let listen { _ = try ListenAddress(listen).link(in: transports, anywhere: true) }
    if !name.isEmpty { _ = try OptionValue.of("--name") { try ProxyConfiguration.check(names: name) } }
    try users.check()
    if !allowPage.isEmpty { _ = try OptionValue.of("--allow-page") { try ProxyConfiguration.check(pages: allowPage) } }
    _ = try UpgradeProtocol.allowed(allowUpgrade)
    try DescriptorBudget.check(maxConnections)
  }

  /// - Throws: ``CommandFailure`` or ``BywayError`` if something is wrong.
  func configuration(transports: TransportRegistry, logger: Logger) throws -> ProxyConfiguration {
    let main = try main(in: transports)
    guard let listen else {
      throw CommandFailure(
        .usage, "No address is given for clients: add --listen, for example --listen 127.0.0.1:8080.")
    }
    try interceptors.check(transports: transports)
    _ = try interceptors.chain(at: .client, hasCache: cache != nil, in: transports)
    let descriptors = try DescriptorBudget(accepting: maxConnections, dialing: devices.dialing)
    var configuration = ProxyConfiguration(
      devices: try devices.directory(main: main, mostDialed: descriptors.dialing, in: transports),
      listen: try users.listen(on: ListenAddress(listen).link(in: transports, anywhere: listenAnywhere), in: transports)
    )
    if configuration.listen.opening == .dial {
      throw CommandFailure(
        .usage, "--listen \(listen): open=dial is for links, and a proxy has to wait for its clients.")
    }
    try UserOptions.check(hubs: configuration.devices.hubs)
    configuration.users = try users.rules(at: configuration.listen)
    if configuration.users != nil, let option = interceptors.telling {
      throw CommandFailure(
        .usage, "\(option) lets all users see one user's responses: leave it out if --rights distinguishes users.")
    }
    configuration.discovery = try devices.discovery(in: transports)
    configuration.firstSteps = devices.firstSteps(hubs: configuration.devices.hubs, in: transports)
    configuration.announcement = try devices.announcement(listen: configuration.listen)
    configuration.names = name
    configuration.allowedPages = allowPage
    configuration.allowedUpgrades = try UpgradeProtocol.allowed(allowUpgrade)
    configuration.maximumConnections = descriptors.accepted
    configuration.patience = (linkTimeout ?? Seconds(5)).duration
    configuration.logger = logger
    try tlsInterception.apply(to: &configuration)
    return configuration
  }

  /// Returns the link of the default device. Recorded answers need none.
  private func main(in transports: TransportRegistry) throws -> Link? {
    if let link = try link.linkIfGiven(in: transports) { return link }
    if !devices.isEmpty { return nil }
    return try interceptors.replay.map { try RecordedLink.link(to: $0) } ?? link.link(in: transports)
  }

  func interception(of configuration: ProxyConfiguration, with files: InterceptionFiles) throws -> Interception {
    // A socket for a reverse proxy has many users.
    let isForOne = configuration.users == nil && configuration.listen.isForOneUser
    let kind: CacheKind = isForOne ? .private : .shared
    let links = configuration.devices.links
    var interception = try interceptors.interception(
      at: .client, over: links.allSatisfy { $0.framing == .http1 } ? .http1 : .http2,
      cache: cache.map { ($0, kind, links.first?.address.text ?? "") },
      upgrades: configuration.allowedUpgrades, with: files, logger: configuration.logger)
    try interception.audit(in: users.auditLog, of: files, logger: configuration.logger)
    return interception
  }
}
