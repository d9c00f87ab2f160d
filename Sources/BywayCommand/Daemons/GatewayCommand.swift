import ArgumentParser
import BywayGateway

/// `byway gateway`
struct GatewayCommand: DaemonCommand {
  typealias Member = Gateway

  static let configuration = CommandConfiguration(
    commandName: "gateway",
    abstract: "Runs on the device: accepts HTTP on its links and forwards it to an origin.",
    discussion: """
      Without --allow, a client can reach the origin and nothing else. SIGTERM and SIGINT stop it gracefully; a second \
      signal stops it at once.
      """)

  @OptionGroup var member: GatewayOptions
  @OptionGroup var daemon: DaemonOptions
  @OptionGroup var file: DaemonFileOptions
}
