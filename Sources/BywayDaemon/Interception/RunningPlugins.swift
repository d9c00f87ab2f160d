import Byway
import BywayPlugins
import Logging

/// The plugins of a process, by their options, and the private folder of their next hops.
struct RunningPlugins {
  private var plugins: [(key: String, plugin: Plugin)] = []
  private var folder: PrivateFolder?
  private var made = 0
  /// The plugins that are no longer used, while they finish.
  private var ending: [Task<Void, Never>] = []

  /// The plugins in use, in the order in which they were made.
  var all: [Plugin] { plugins.map { $0.plugin } }

  /// Returns the plugin for an option, the same for all members with that option.
  mutating func plugin(
    _ settings: PluginSettings, at link: Link, key: String, upgrades: [UpgradeProtocol],
    in transports: TransportRegistry,
    logger: Logger
  ) throws -> Plugin {
    if let known = plugins.first(where: { $0.key == key }) { return known.plugin }
    let folder = try self.folder ?? ControlFolders.privateFolder()
    self.folder = folder
    made += 1
    let next = try transports.link("unix:\(folder.path)/\(made).sock?mode=0600")
    let plugin = Plugin(settings, at: Plugin.Endpoints(link: link, next: next, upgrades: upgrades, logger: logger))
    plugins.append((key, plugin))
    return plugin
  }

  /// Lets the plugins that are no longer used finish their exchanges.
  /// - Parameter drain: The time for that.
  /// - Returns: The work to wait for at the end of the process.
  mutating func release(except used: Set<String>, within drain: Duration) -> [Task<Void, Never>] {
    for (key, plugin) in plugins where !used.contains(key) {
      ending.append(Task { await plugin.shutDown(within: drain) })
    }
    plugins.removeAll { !used.contains($0.key) }
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
