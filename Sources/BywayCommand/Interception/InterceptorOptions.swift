import ArgumentParser
import Byway
import BywayDaemon
import BywayGatewayProgram
import BywayInterceptors
import BywayTerminal
import Logging

/// The options for the interceptors of a daemon; [docs/interceptors.md] describes each of them.
struct InterceptorOptions: ParsableArguments {
  @Option(
    help: .value("file.har", "Record every exchange into a HAR file, without bodies and secrets."),
    completion: .file())
  var trace: String?

  @Option(
    help: .value(
      "link",
      "Send requests through this plugin, an HTTP server that answers them or sends them on; may be repeated. Options such as "
        + "?host=…&path=…&on-failure=bypass follow the link."), completion: .links)
  var interceptor: [String] = []

  @Option(
    help: .value(
      "name,…",
      "The order of all interceptors in use, by their names: trace, record, stub, replay, cache, auth, compress, and those of "
        + "plugins."))
  var interceptors: String?

  @Option(
    help: .value("file", "Answer the requests that match the rules in this file."), completion: .file()
  )
  var stub: String?

  @Option(
    help: .value("folder", "Record answers into this folder, for --replay."), completion: .directory)
  var record: String?

  @Option(
    help: .value("folder or file", "Answer only from recordings of --record or the inspector."),
    completion: .directory)
  var replay: String?

  @Option(
    help: .value("file", "Log in if an origin asks for it, with the names and passwords of a netrc file."),
    completion: .file())
  var auth: String?

  @Flag(help: "Compress bodies on the link, if its other end has --compress too.")
  var compress = false

  /// Opens what the interceptors need.
  /// - Parameters:
  ///   - cache: The cache's folder, its kind, and its link.
  ///   - upgrades: The protocols that requests may upgrade to, besides the usual ones.
  ///   - files: The files that are open already.
  /// - Throws: ``CommandFailure`` or ``BywayError`` if options contradict each other, or a file cannot be used.
  func interception(
    at end: Compress.End, over framing: Link.Framing = .http2,
    cache: (folder: String, kind: CacheKind, link: String)? = nil, upgrades: [UpgradeProtocol],
    with files: InterceptionFiles, logger: Logger
  ) throws -> Interception {
    try checkExclusion()
    var all: [NamedInterceptor] = []
    func add(_ name: String, _ interceptor: any Interceptor) { all.append(NamedInterceptor(name, interceptor)) }
    var used: Set<InterceptionFiles.Key> = []
    if let trace {
      add("trace", Trace(to: try files.trace(trace, framing: framing, logger: logger)))
      used.insert(.trace(trace))
    }
    for text in interceptor {
      let (plugin, key) = try files.plugin(text, upgrades: upgrades, logger: logger)
      add(plugin.plugin.settings.name, plugin)
      used.insert(key)
    }
    if let record {
      add("record", try files.recorder(record, logger: logger))
      used.insert(.record(record))
    }
    if let stub { add("stub", try StubFile(stub)) }
    if let replay { add("replay", try Replay(from: replay)) }
    if let cache {
      var configuration = Cache.Configuration.defaults
      configuration.kind = cache.kind
      configuration.link = cache.link
      configuration.logger = logger
      add("cache", try files.cache(cache.folder, configuration))
      used.insert(.cache(cache.folder))
    }
    if let auth { add("auth", try Authenticate(netrc: auth)) }
    if compress { all.insert(NamedInterceptor("compress", Compress(at: end)), at: end == .gateway ? 0 : all.count) }
    return Interception(try InterceptorOrder(interceptors).sorted(all, by: \.name), using: used)
  }

  /// Returns the names of the interceptors in the order in which they get a request, with the plugins among them.
  /// - Throws: ``CommandFailure`` or ``BywayError`` if a plugin's option or the list is wrong.
  func chain(
    at end: Compress.End, hasCache: Bool, in transports: TransportRegistry
  ) throws -> [(name: String, plugin: PluginArgument?)] {
    var all: [(name: String, plugin: PluginArgument?)] = []
    if trace != nil { all.append(("trace", nil)) }
    for text in interceptor {
      let plugin = try OptionValue.of("--interceptor") { try PluginArgument(text, in: transports) }
      all.append((plugin.settings.name, plugin))
    }
    for (name, isUsed) in [
      ("record", record != nil), ("stub", stub != nil), ("replay", replay != nil), ("cache", hasCache),
      ("auth", auth != nil),
    ] where isUsed { all.append((name, nil)) }
    if compress { all.insert(("compress", nil), at: end == .gateway ? 0 : all.count) }
    return try InterceptorOrder(interceptors).sorted(all) { $0.name }
  }

  /// Checks the given values that the parser leaves as text.
  func check(transports: TransportRegistry) throws {
    for text in interceptor { _ = try OptionValue.of("--interceptor") { try PluginArgument(text, in: transports) } }
  }

  /// Returns the checks of the files that they need.
  func checks(in transports: TransportRegistry) -> [OptionCheck] {
    [OptionCheck("--replay") { try checkExclusion() }] + OptionCheck.writing(file: trace, "--trace")
      + OptionCheck.writing(folder: record, "--record")
      + OptionCheck.reading("--stub", stub) { _ = try StubFile($0) }
      + OptionCheck.reading("--replay", record == nil ? replay : nil) { _ = try Replay(from: $0) }
      + OptionCheck.reading("--auth", auth) { _ = try Authenticate(netrc: $0) }
      + interceptor.map { text in
        OptionCheck("--interceptor", text) { try PluginArgument(text, in: transports).check() }
      }
  }

  /// The option that shows all users a response to one of them, if there is one.
  var telling: String? { record != nil ? "--record" : replay != nil ? "--replay" : nil }

  private func checkExclusion() throws(CommandFailure) {
    guard record != nil, replay != nil else { return }
    throw CommandFailure(.usage, "--record and --replay exclude each other: leave one of them out.")
  }
}
