package import Byway
package import BywayInterceptors
package import BywayPlugins
import BywayTerminal
package import Logging
import Synchronization

/// The files of interceptors, each of which can be open only once. All gateways and proxies of a daemon share them, and reloads
/// keep them. Safe on any thread.
package final class InterceptionFiles: Sendable {
  /// A file by the path that the user wrote.
  package enum Key: Sendable, Hashable {
    case trace(String)
    case record(String)
    case cache(String)
    case audit(String)
    case plugin(String)
  }

  private struct State {
    var traces: [String: HARFile] = [:]
    var recorders: [String: Recorder] = [:]
    var caches: [String: Cache] = [:]
    var audits: [String: AuditLogFile] = [:]
    var plugins = RunningPlugins()
  }

  package let transports: TransportRegistry
  private let state = Mutex(State())

  package init(_ transports: TransportRegistry = TransportRegistry([])) {
    self.transports = transports
  }

  /// Opens a HAR file. Its previous content remains until ``begin()``.
  package func trace(_ path: String, framing: Link.Framing, logger: Logger) throws -> HARFile {
    try state.withLock { state in
      if let file = state.traces[path] { return file }
      let file = try HARFile(opening: path, at: .hop, framing: framing, logger: logger)
      state.traces[path] = file
      return file
    }
  }

  package func recorder(_ folder: String, logger: Logger) throws -> Recorder {
    try state.withLock { state in
      if let recorder = state.recorders[folder] { return recorder }
      let recorder = try Recorder(into: folder, logger: logger)
      state.recorders[folder] = recorder
      return recorder
    }
  }

  /// Returns the cache for a folder, the same for all members with that folder.
  /// - Throws: ``CommandFailure`` if the folder is open with the other kind of cache.
  package func cache(_ folder: String, _ configuration: Cache.Configuration) throws -> Cache {
    try state.withLock { state in
      guard let cache = state.caches[folder] else {
        let cache = try Cache(folder: folder, configuration: configuration)
        state.caches[folder] = cache
        return cache
      }
      guard cache.kind == configuration.kind else {
        throw CommandFailure(
          .usage,
          "--cache \(folder): this process uses the folder already, \(cache.kind == .private ? "for one user" : "for many"): "
            + "take another, or start again.")
      }
      return cache.serving(configuration.link, logger: configuration.logger)
    }
  }

  /// Returns the audit log of a file, the same for all members with that file.
  func audit(_ path: String, logger: Logger) throws -> AuditLogFile {
    try state.withLock { state in
      if let file = state.audits[path] { return file }
      let file = try AuditLogFile(path, logger: logger)
      state.audits[path] = file
      return file
    }
  }

  /// Returns the plugin for an option, and its key.
  /// - Parameter text: the option as the user wrote it.
  package func plugin(
    _ settings: PluginSettings, at link: Link, writtenAs text: String, upgrades: [UpgradeProtocol], logger: Logger
  ) throws -> (plugin: SharedPlugin, key: Key) {
    let key = ([text] + upgrades.map(\.description)).joined(separator: " ")
    let plugin = try state.withLock { state in
      try state.plugins.plugin(settings, at: link, key: key, upgrades: upgrades, in: transports, logger: logger)
    }
    return (SharedPlugin(plugin: plugin), .plugin(key))
  }

  /// The plugins in use.
  var plugins: [Plugin] { state.withLock(\.plugins.all) }

  /// Opens the audit logs again, after a rotation has renamed their files.
  func reopen() {
    for file in state.withLock({ Array($0.audits.values) }) { file.reopen() }
  }

  /// Begins new HAR files when the configuration that needs them takes effect.
  /// - Throws: ``BywayError`` if a file cannot be written.
  func begin() throws {
    for file in state.withLock({ Array($0.traces.values) }) { try file.begin() }
  }

  /// Releases the files that are no longer used, after writing all that was recorded.
  /// - Parameter drain: The time for the exchanges of plugins.
  package func release(except used: Set<Key>, within drain: Duration) async {
    let (traces, audits, plugins) = state.withLock { state in
      let left = state.traces.filter { !used.contains(.trace($0.key)) }
      for path in left.keys { state.traces[path] = nil }
      state.recorders = state.recorders.filter { used.contains(.record($0.key)) }
      state.caches = state.caches.filter { used.contains(.cache($0.key)) }
      let audits = state.audits.filter { !used.contains(.audit($0.key)) }
      for path in audits.keys { state.audits[path] = nil }
      let plugins = state.plugins.release(except: Set(used.compactMap(\.pluginKey)), within: drain)
      return (Array(left.values), Array(audits.values), plugins)
    }
    for file in traces { await file.flush() }
    for file in audits { await file.finish() }
    // A running process does not wait for the exchanges of a plugin that was removed.
    if used.isEmpty { for plugin in plugins { await plugin.value } }
  }
}

extension InterceptionFiles.Key {
  fileprivate var pluginKey: String? {
    if case .plugin(let key) = self { key } else { nil }
  }
}
