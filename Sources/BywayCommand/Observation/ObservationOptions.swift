import ArgumentParser
import Byway

/// What of a daemon is to be seen from outside, on the command line or in a file before its first section.
struct ObservationOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Serve metrics for Prometheus here, at /metrics: 127.0.0.1:9464 or unix:PATH.", valueName: "address"))
  var metrics: String?

  @Flag(help: "Allow --metrics on an address that other machines reach. Anyone who reaches it can read them.")
  var metricsAnywhere = false

  @Option(
    help: ArgumentHelp(
      "Write a line for each exchange to this file, or with - to standard output. SIGUSR1 opens it again.",
      valueName: "file"), completion: .file())
  var accessLog: String?

  @Option(
    help: ArgumentHelp(
      "How those lines look: combined as Apache's, or json with all that is known. (default: combined)",
      valueName: "format"))
  var accessLogFormat: AccessLogFormat?

  @Option(
    help: ArgumentHelp(
      "How the log on standard error looks: text, json, or journal, with priorities for systemd. "
        + "(default: journal under systemd, else text)", valueName: "format"))
  var logFormat: LogFormat?

  init() {}

  /// What cannot change while a daemon runs: options, with their values as text.
  var fixed: [String: String] {
    [
      "metrics": metrics ?? "", "metrics-anywhere": "\(metricsAnywhere)", "access-log": accessLog ?? "",
      "access-log-format": accessLogFormat.map { "\($0)" } ?? "",
    ]
  }

  /// Where metrics are served; `nil`: nowhere.
  func metricsLink(in transports: TransportRegistry) throws -> Link? {
    try metrics.map { try ListenAddress($0, of: "--metrics").link(in: transports, anywhere: metricsAnywhere) }
  }

  /// - Parameter links: of all gateways and proxies.
  /// - Throws: ``CommandFailure`` or ``BywayError`` where something is wrong.
  func check(_ transports: TransportRegistry, besides links: [Link]) throws {
    _ = try metricsLink(in: transports)
    if accessLog == "-", links.contains(where: { $0.address.scheme == "stdio" }) {
      throw CommandFailure(.usage, "--access-log -: standard output is the link stdio: here. Name a file for the log.")
    }
  }

  var checks: [OptionCheck] { OptionCheck.writing(file: accessLog == "-" ? nil : accessLog, "--access-log") }
}
