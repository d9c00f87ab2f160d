import Byway
import BywayPlugins
import BywayPrimitives
import Logging

/// The plugins of a process, by their options, and the private folder of their next hops.
struct RunningPlugins {
  private var plugins: [String: Plugin] = [:]
  private var folder: PrivateFolder?
  private var made = 0
  /// The plugins that are no longer used, while they finish.
  private var ending: [Task<Void, Never>] = []

  /// Returns the plugin for an option, the same for all members with that option.
  mutating func plugin(
    _ text: String, key: String, upgrades: [UpgradeProtocol], in transports: TransportRegistry, logger: Logger
  ) throws -> Plugin {
    if let plugin = plugins[key] { return plugin }
    let argument = try PluginArgument(text, in: transports)
    let folder = try self.folder ?? PrivateFolder(in: Self.parent)
    self.folder = folder
    made += 1
    let next = try transports.link("unix:\(folder.path)/\(made).sock?mode=0600")
    let plugin = Plugin(
      argument.settings, at: Plugin.Place(link: argument.link, next: next, upgrades: upgrades, logger: logger))
    plugins[key] = plugin
    return plugin
  }

  /// The folder of the service, or of the login session. Plugins of other services have no access to a private /tmp.
  private static var parent: String? {
    (Environment.runtimeFolder ?? Environment["XDG_RUNTIME_DIR"]).flatMap { $0.hasPrefix("/") ? $0 : nil }
  }

  /// Lets the plugins that are no longer used finish their exchanges.
  /// - Returns: The work to wait for at the end of the process.
  mutating func release(except used: Set<String>) -> [Task<Void, Never>] {
    for (key, plugin) in plugins where !used.contains(key) {
      plugins[key] = nil
      ending.append(Task { await plugin.shutDown() })
    }
    guard plugins.isEmpty, let folder = folder.take() else { return ending }
    let others = ending
    ending = [
      Task {
        for task in others { await task.value }
        folder.remove()
      }
    ]
    return ending
  }
}
