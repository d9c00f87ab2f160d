import ArgumentParser
import Byway
import NIOCore

/// `byway request`
struct RequestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "request",
    abstract: "Sends one request over a link.",
    discussion: """
      URL is http://HOST/PATH, or only /PATH of the gateway's origin. Exit status: 0 for an answer, whatever its status; 22 \
      with --fail for 400 or more; 64 for a wrong command line; 69 where no complete answer came; 66, 73 and 74 for files \
      that cannot be read, made and written.
      """)

  @OptionGroup var link: LinkOptions

  @OptionGroup var message: RequestOptions

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
    let transfer = Transfer(
      link: link, request: try message.request(), output: output, showsHead: include, failsOnStatus: fail,
      isVerbose: verbose)
    let timedOut = BywayError(.timedOut, "The request did not end within --max-time.")
    try await withTimeLimit(maxTime?.amount, timedOut) { try await transfer.run() }
  }
}
