import ArgumentParser
import Byway
import BywayDaemon
import BywayDaemonProcess
import BywayGatewayProgram
import BywayTerminal

/// The options for what can be observed of a daemon from outside, on the command line or before the first section of a file.
struct ObservationOptions: ParsableArguments {
  @Option(
    help: .value("address", "Serve metrics for Prometheus here, at /metrics: 127.0.0.1:9464 or unix:PATH."))
  var metrics: String?

  @Flag(help: "Allow --metrics on an address that other machines reach. Anyone who reaches it can read them.")
  var metricsAnywhere = false

  @Option(
    help: .value(
      "address", "Serve a page here that shows the exchanges and the links underneath: 127.0.0.1:4040 or unix:PATH."))
  var inspect: String?

  @Option(
    help: .value(
      "size",
      "How much of each body the inspector keeps in memory. All bodies get an eighth of --memory-budget. (default: 1M)")
  )
  var inspectBodies: Size?

  @Flag(help: "Let the inspector show passwords, cookies and tokens to anyone who opens its page.")
  var inspectSecrets = false

  @Option(
    help: .value(
      "file", "Write a line for each exchange to this file, or with - to standard output. SIGUSR1 opens it again."),
    completion: .file())
  var accessLog: String?

  @Option(
    help: .value(
      "format", "How those lines look: combined as Apache's, or json with all that is known. (default: combined)"))
  var accessLogFormat: AccessLogFormat?

  @Option(
    help: .value(
      "format",
      "How the log on standard error looks: text, json, or journal, with priorities for systemd. "
        + "(default: journal under systemd, else text)"))
  var logFormat: LogFormat?

  private static let mostBodies = 64 << 20

  /// The options that cannot change while a daemon runs, with their values as text.
  private var fixed: [String: String] {
    [
      "metrics": metrics ?? "", "metrics-anywhere": "\(metricsAnywhere)", "access-log": accessLog ?? "",
      "access-log-format": accessLogFormat.map { "\($0)" } ?? "", "inspect": inspect ?? "",
      "inspect-bodies": inspectBodies.map { "\($0.bytes)" } ?? "", "inspect-secrets": "\(inspectSecrets)",
    ]
  }

  /// - Throws: ``CommandFailure`` or ``BywayError`` if an address is wrong.
  func settings(in transports: TransportRegistry) throws -> ObservationSettings {
    var settings = ObservationSettings()
    settings.metrics = try metricsLink(in: transports)
    settings.metricsAnywhere = metricsAnywhere
    settings.inspector = try inspectLink(in: transports)
    if let inspectBodies { settings.inspectedBytes = inspectBodies.bytes }
    settings.inspectSecrets = inspectSecrets
    settings.accessLog = accessLog
    if let accessLogFormat { settings.accessLogFormat = accessLogFormat }
    settings.fixed = fixed
    return settings
  }

  /// Returns the link on which metrics are served; `nil` if they are not.
  private func metricsLink(in transports: TransportRegistry) throws -> Link? {
    try metrics.map { try ListenAddress($0, of: "--metrics").link(in: transports, anywhere: metricsAnywhere) }
  }

  /// Returns the link of the inspector; `nil` if there is none.
  private func inspectLink(in transports: TransportRegistry) throws -> Link? {
    guard let inspect else { return nil }
    let link = try ListenAddress(inspect, of: "--inspect").link(in: transports, mayBeOpen: false)
    guard ["tcp", "unix", "fd"].contains(link.address.scheme) else {
      throw CommandFailure(.usage, "--inspect \(inspect): write 127.0.0.1:4040 or unix:PATH.")
    }
    return link
  }

  /// Returns the links on which the observation listens.
  func links(in transports: TransportRegistry) throws -> [OptionLink] {
    let links = [
      ("--metrics", try metricsLink(in: transports)), ("--inspect", try inspectLink(in: transports)),
    ]
    return links.compactMap { option, link in
      link.map { OptionLink(option: option, value: nil, link: $0, opening: .listen) }
    }
  }

  /// - Parameters:
  ///   - links: The links of all gateways and proxies.
  ///   - tellsUsersApart: Whether a response to one of their users must not be shown to another.
  /// - Throws: ``CommandFailure`` or ``BywayError`` if something is wrong.
  func check(_ transports: TransportRegistry, besides links: [Link], tellingUsersApart tellsUsersApart: Bool) throws {
    _ = try self.links(in: transports)
    if tellsUsersApart, let inspect, try inspectLink(in: transports)?.address.scheme == "tcp" {
      throw CommandFailure(
        .usage,
        "--inspect \(inspect) shows every user of this machine the responses to one of them: if --rights distinguishes users, write "
          + "--inspect unix:PATH, which only the user that this runs as can open.")
    }
    if inspect == nil {
      let alone = [("--inspect-bodies", inspectBodies != nil), ("--inspect-secrets", inspectSecrets)].first(where: \.1)
      if let alone { throw CommandFailure(.usage, "\(alone.0) says how --inspect ADDRESS shows things: add that.") }
    }
    if let size = inspectBodies, size.bytes > Self.mostBodies {
      throw CommandFailure(
        .usage, "--inspect-bodies: at most 64M, and all bodies get an eighth of --memory-budget.")
    }
    if accessLog == "-", links.contains(where: { $0.address.scheme == "stdio" }) {
      throw CommandFailure(.usage, "--access-log -: standard output is the link stdio: here. Name a file for the log.")
    }
  }

  var checks: [OptionCheck] { OptionCheck.writing(file: accessLog == "-" ? nil : accessLog, "--access-log") }
}
