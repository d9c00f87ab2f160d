import ArgumentParser
import Byway
import BywayInterceptors
import Logging

/// The interceptors that a daemon is told to have; [docs/interceptors.md] says what each does.
struct InterceptorOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Record every exchange into a HAR file, without bodies and secrets.", valueName: "file.har"),
    completion: .file())
  var trace: String?

  @Option(
    help: ArgumentHelp("Answer the requests that match the rules in this file.", valueName: "file"), completion: .file()
  )
  var stub: String?

  @Option(
    help: ArgumentHelp("Record answers into this folder, for --replay.", valueName: "folder"), completion: .directory)
  var record: String?

  @Option(
    help: ArgumentHelp("Answer only from what --record has written.", valueName: "folder"),
    completion: .directory)
  var replay: String?

  @Option(
    help: ArgumentHelp(
      "Log in where an origin asks for it, with the names and passwords of a netrc file.", valueName: "file"),
    completion: .file())
  var auth: String?

  @Flag(help: "Compress bodies on the link, where its other end has --compress too.")
  var compress = false

  init() {}

  /// Opens what they need.
  /// - Parameters:
  ///   - cache: its folder, whose requests it answers, and over which link.
  /// - Throws: ``CommandFailure`` or ``BywayError`` where they contradict each other, or a file cannot be used.
  func interception(
    at end: Compress.End, over framing: Link.Framing = .http2,
    cache: (folder: String, kind: Cache.Kind, link: LinkAddress)? = nil,
    logger: Logger
  ) throws -> Interception {
    if record != nil, replay != nil {
      throw CommandFailure(
        .usage, "--record and --replay exclude each other: leave one of them out.")
    }
    let file = try trace.map { try HARFile($0, at: .hop, framing: framing, logger: logger) }
    var interceptors: [any Interceptor] = []
    if let file { interceptors.append(Trace(to: file)) }
    if let record { interceptors.append(try Recorder(into: record, logger: logger)) }
    if let stub { interceptors.append(try StubFile(stub)) }
    if let replay { interceptors.append(try Replay(from: replay)) }
    if let cache {
      var configuration = Cache.Configuration.defaults
      configuration.kind = cache.kind
      configuration.link = cache.link.text
      configuration.logger = logger
      interceptors.append(try Cache(folder: cache.folder, configuration: configuration))
    }
    if let auth { interceptors.append(try Authenticate(netrc: auth)) }
    return Interception(
      interceptors: interceptors, compress: compress ? Compress(at: end) : nil, isAtGateway: end == .gateway,
      trace: file)
  }
}

/// Interceptors, and what is to be done when no request comes any more.
struct Interception: Sendable {
  fileprivate let interceptors: [any Interceptor]
  fileprivate let compress: Compress?
  fileprivate let isAtGateway: Bool
  fileprivate let trace: HARFile?

  /// With others that stand behind them, nearer to the origin. Compression is nearest to the link.
  func before(_ others: [any Interceptor]) -> [any Interceptor] {
    let all = interceptors + others
    guard let compress else { return all }
    return isAtGateway ? [compress] + all : all + [compress]
  }

  /// Returns when all that was recorded is in its file.
  func finish() async {
    await trace?.flush()
  }
}
