import ArgumentParser
import BywayProxy

/// `byway proxy`
struct ProxyCommand: DaemonCommand {
  typealias Member = Proxy

  static let configuration = CommandConfiguration(
    commandName: "proxy",
    abstract: "Runs at the user's end: forwards what arrives on one port over the link.",
    discussion: """
      Serves HTTP/1.1 and HTTP/2 with prior knowledge, CONNECT and WebSocket. A URL on the proxy itself means the \
      gateway's origin; as an HTTP proxy it reaches what the gateway allows.
      """)

  static var sharedSections: (kind: String, options: [String: String])? {
    ("device", ["link": "device", "title": "device-title"])
  }

  @OptionGroup var member: ProxyOptions
  @OptionGroup var daemon: DaemonOptions
  @OptionGroup var file: DaemonFileOptions
}
