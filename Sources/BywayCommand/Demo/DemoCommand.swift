import ArgumentParser
import BywayDaemonProcess
import BywayDemo

/// `byway demo`
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract:
      "Shows everything on this machine: a service without a port, a bad serial line, and a proxy to try it with.",
    usage: "byway demo [<options>]",
    discussion: """
      In one process: an origin that is a Swift function, a gateway, an emulated serial line with errors, and a proxy on \
      127.0.0.1. Every request is shown as it passes, and the state of the line; a separate page, the inspector, shows more of both. \
      On a terminal p pulls the cable and plugs it \
      in again, e makes more errors, q quits. With --once it takes a tour by itself and exits with 0 if all went well.
      """)

  @Flag(help: "Take the tour, report its results, and exit.")
  var once = false

  @Option(help: .value("number", "Repeat the line's errors of an earlier run. Random by default."))
  var seed: UInt64?

  @Option(help: .value("address", "Where the proxy listens."))
  var listen = "127.0.0.1:0"

  @Option(help: .value("level", "How much to log."))
  var logLevel = LogLevel.error

  func run() async throws {
    LogLevels.set(logLevel)
    let transports = CommandContext.transports
    let demo = Demo(listen: try ListenAddress(listen).link(in: transports), seed: seed, transports: transports)
    if once { try await demo.tour() } else { try await demo.show() }
  }
}
