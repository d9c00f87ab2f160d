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
  ///   - before: whose open files are used again where they are meant.
  /// - Throws: ``CommandFailure`` or ``BywayError`` where they contradict each other, or a file cannot be used.
  func interception(
    at end: Compress.End, over framing: Link.Framing = .http2,
    cache: (folder: String, kind: Cache.Kind, link: LinkAddress)? = nil, keeping before: Interception? = nil,
    logger: Logger
  ) throws -> Interception {
    try checkExclusion()
    var opened = Interception.Opened()
    var interceptors: [any Interceptor] = []
    if let trace {
      let file = try before?.opened.trace[trace] ?? HARFile(trace, at: .hop, framing: framing, logger: logger)
      opened.trace[trace] = file
      interceptors.append(Trace(to: file))
    }
    if let record {
      let recorder = try before?.opened.record[record] ?? Recorder(into: record, logger: logger)
      opened.record[record] = recorder
      interceptors.append(recorder)
    }
    if let stub { interceptors.append(try StubFile(stub)) }
    if let replay { interceptors.append(try Replay(from: replay)) }
    if let cache {
      var configuration = Cache.Configuration.defaults
      configuration.kind = cache.kind
      configuration.link = cache.link.text
      configuration.logger = logger
      let key = Interception.Opened.CacheKey(folder: cache.folder, kind: cache.kind, link: cache.link.text)
      let cache = try before?.opened.cache[key] ?? Cache(folder: cache.folder, configuration: configuration)
      opened.cache[key] = cache
      interceptors.append(cache)
    }
    if let auth { interceptors.append(try Authenticate(netrc: auth)) }
    return Interception(
      interceptors: interceptors, compress: compress ? Compress(at: end) : nil, isAtGateway: end == .gateway,
      opened: opened)
  }

  /// Reads the files that are only read, so that what is wrong with them is known.
  func check() throws {
    try checkExclusion()
    if let stub { _ = try StubFile(stub) }
    if let replay { _ = try Replay(from: replay) }
    if let auth { _ = try Authenticate(netrc: auth) }
  }

  private func checkExclusion() throws(CommandFailure) {
    guard record != nil, replay != nil else { return }
    throw CommandFailure(.usage, "--record and --replay exclude each other: leave one of them out.")
  }
}

/// Interceptors, and what is to be done when no request comes any more.
struct Interception: Sendable {
  fileprivate let interceptors: [any Interceptor]
  fileprivate let compress: Compress?
  fileprivate let isAtGateway: Bool
  fileprivate let opened: Opened

  /// What can be open only once, by what the user has asked for.
  fileprivate struct Opened {
    struct CacheKey: Hashable {
      let folder: String
      let kind: Cache.Kind
      let link: String
    }

    var trace: [String: HARFile] = [:]
    var record: [String: Recorder] = [:]
    var cache: [CacheKey: Cache] = [:]
  }

  /// With others that stand behind them, nearer to the origin. Compression is nearest to the link.
  func before(_ others: [any Interceptor]) -> [any Interceptor] {
    let all = interceptors + others
    guard let compress else { return all }
    return isAtGateway ? [compress] + all : all + [compress]
  }

  /// Returns when all that was recorded is in its file.
  func finish() async {
    for file in opened.trace.values { await file.flush() }
  }
}
