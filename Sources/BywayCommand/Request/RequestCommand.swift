import ArgumentParser
import Byway
import BywayDaemon
import BywayDaemonProcess
import BywayGatewayProgram
import BywayHTTPWire
import BywayInterceptors
import BywayPrimitives
import BywayTLS
import BywayTerminal
import NIOCore

/// `byway request`
struct RequestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "request",
    abstract: "Sends one request over a link.",
    discussion: """
      URL is http://HOST/PATH, or only /PATH of the gateway's origin; https://HOST/PATH goes through a tunnel, which the \
      gateway must allow, and only its two ends can read it. Options that curl has mean the same as there, except where the text \
      below says otherwise. Exit status: 0 for an answer, whatever its status; 22 with --fail for 400 or more; 64 for a \
      wrong command line; 69 if no complete answer came; 66, 73 and 74 for files that cannot be read, made and written.
      """)

  @OptionGroup var link: LinkOptions

  @OptionGroup var message: RequestOptions

  @Flag(
    name: [.customShort("L"), .customLong("location")],
    help:
      "Follow redirects, at most 20. They go through the same link, so that one to another host may end at the origin.")
  var location = false

  @Option(
    name: [.customShort("m", allowingJoined: true), .customLong("max-time")],
    help: .value("seconds", "Give up after this many seconds, including the body."))
  var maxTime: Seconds?

  @Flag(
    help:
      "Compress bodies on the link, if the gateway has --compress too. Unlike curl's --compressed, the origin does not notice."
  )
  var compress = false

  @Option(
    help: .value("link", "Send the request through this plugin, as byway proxy does; may be repeated."),
    completion: .links)
  var interceptor: [String] = []

  @OptionGroup(title: "Output") var output: OutputOptions

  @OptionGroup(title: "Login") var login: LoginOptions

  @OptionGroup(title: "TLS of https://") var peer: PeerOptions

  func run() async throws {
    let link = try link.link(in: CommandContext.transports)
    let request = try message.request()
    let file = try output.path(for: request)
    let writeOut = try output.writeOut.map { try WriteOut($0) }
    let record = TransferRecord(TransferFacts(request: request.head, framing: link.framing, file: file))
    let plugins = InterceptionFiles(CommandContext.transports)
    let transfer = Transfer(
      link: link, request: request, interceptors: try interceptors(for: request, record, plugins), file: file,
      resumes: output.continueAt != nil,
      look: Transfer.Look(
        showsHead: output.include || message.head, failsOnStatus: output.fail, isVerbose: output.verbose,
        isSilent: output.silent))
    let timedOut = BywayError(.timedOut, "The request did not end within --max-time.")
    defer { if let writeOut { writeOut.write(record.facts, to: .output) } }
    do {
      try await DoctorAdvice.ifFails(link) {
        try await withTimeLimit(maxTime.map { Duration($0.amount) }, throwing: timedOut) {
          try await transfer.run(in: CommandContext.transports)
        }
      }
    } catch {
      await plugins.release(except: [], within: .zero)
      throw error
    }
    await plugins.release(except: [], within: .zero)
  }

  /// Returns the interceptors in order from the user to the link.
  private func interceptors(
    for request: Request, _ record: TransferRecord, _ plugins: InterceptionFiles
  ) throws -> [any Interceptor] {
    var interceptors: [any Interceptor] = [TransferWatch(record: record)]
    if location {
      interceptors.append(
        Redirect { _, next in
          record.redirected(to: next.head)
          return next
        })
    }
    var logger = DaemonLogHandler.logger("byway.request")
    logger.logLevel = .notice
    var names: [String] = []
    for text in interceptor {
      let plugin = try OptionValue.of("--interceptor") {
        try plugins.plugin(text, upgrades: [], logger: logger).plugin
      }
      names.append(plugin.plugin.settings.name)
      interceptors.append(plugin)
    }
    try InterceptorOrder.checkUnique(names)
    if let login = try login.interceptor(for: message.url, request) { interceptors.append(login) }
    if let tunnel = try tunnel(for: request) { interceptors.append(tunnel) }
    if compress { interceptors.append(Compress(at: .client)) }
    return interceptors
  }

  /// Returns `nil` if the request goes to the gateway without TLS.
  private func tunnel(for request: Request) throws -> EndToEndTLS? {
    let host = request.head.authority.flatMap { try? Authority($0) }?.host.text ?? ""
    guard request.head.scheme == "https" || peer.isEmpty else {
      throw CommandFailure(
        .usage, "--trust, --client-cert, --peer-name and --peer-address are for https://, not http://.")
    }
    // A redirect may lead to https.
    return request.head.scheme == "https" || location ? EndToEndTLS(try peer.policy(for: host)) : nil
  }
}
