import ArgumentParser
import Byway
import BywayTLS
import NIOCore

/// `byway request`
struct RequestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "request",
    abstract: "Sends one request over a link.",
    discussion: """
      URL is http://HOST/PATH, or only /PATH of the gateway's origin; https://HOST/PATH goes through a tunnel, which the \
      gateway must allow, and nobody on the way can read it. Exit status: 0 for an answer, whatever its status; 22 \
      with --fail for 400 or more; 64 for a wrong command line; 69 where no complete answer came; 66, 73 and 74 for files \
      that cannot be read, made and written.
      """)

  @OptionGroup var link: LinkOptions

  @OptionGroup var message: RequestOptions

  @OptionGroup(title: "TLS of https://") var peer: PeerOptions

  @Option(
    name: [.customShort("o", allowingJoined: true), .customLong("output")], parsing: .unconditional,
    help: ArgumentHelp(
      "Write the body to a file. It has its name when it is complete, and is FILE.part until then.", valueName: "file"))
  var output: String?

  @Flag(name: [.customShort("i"), .customLong("include")], help: "Show the response's head before its body.")
  var include = false

  @Flag(help: "Show no body and exit with 22 where the server answers with 400 or more.")
  var fail = false

  @Flag(name: .shortAndLong, help: "Show both heads on standard error.")
  var verbose = false

  @Option(help: ArgumentHelp("Give up after so many seconds, the body included.", valueName: "seconds"))
  var maxTime: Seconds?

  init() {}

  func run() async throws {
    let link = try link.link(in: CommandContext.transports)
    let request = try message.request()
    let transfer = Transfer(
      link: link, request: request, tunnel: try tunnel(for: request), output: output, showsHead: include,
      failsOnStatus: fail, isVerbose: verbose)
    let timedOut = BywayError(.timedOut, "The request did not end within --max-time.")
    try await withTimeLimit(maxTime?.amount, timedOut) { try await transfer.run() }
  }

  /// `nil` where the gateway is to be asked in the clear.
  private func tunnel(for request: Request) throws -> Tunnel? {
    let host = request.head.authority.flatMap { LinkAddress.HostPort($0) }?.host ?? ""
    if request.head.scheme == "https" { return Tunnel(try peer.policy(for: host)) }
    guard peer.isEmpty else {
      throw CommandFailure(
        .usage, "--trust, --client-cert, --peer-name and --peer-address are for https://, not http://.")
    }
    return nil
  }
}
