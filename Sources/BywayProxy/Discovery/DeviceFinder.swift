package import Byway
import BywayDevices
import Logging
import Synchronization

/// The ports that a proxy watches, to find devices that are not in its configuration.
package struct DiscoverySettings: Sendable {
  let ports: [WatchedPorts]
  let transports: TransportRegistry

  /// - Parameter transports: the transports of links to found devices.
  package init(_ ports: [WatchedPorts], transports: TransportRegistry) {
    self.ports = ports
    self.transports = transports
  }
}

/// Adds found devices to a proxy's table of devices.
///
/// Start, reload and stop must not overlap.
actor DeviceFinder {
  private struct Running {
    let discovery: Discovery
    let reader: Task<Void, Never>
    /// The watched sources, by the text of their settings.
    var sources: [String: Int] = [:]
  }

  private let devices: DeviceTable
  /// The addresses of configured links, which are left out of the search.
  private let links = Mutex<[LinkAddress]>([])
  private var running: Running?

  init(_ devices: DeviceTable) {
    self.devices = devices
  }

  /// Watches the ports of a configuration; ports that are already watched stay so.
  func look(as settings: DiscoverySettings?, besides directory: DeviceDirectory, logger: Logger) async {
    links.withLock { $0 = directory.links.map(\.address) }
    guard let settings else { return await stop() }
    let frontPage = DeviceName(DeviceHosts.frontPage)
    let names = Set(directory.devices.map(\.name)).union([frontPage].compactMap(\.self))
    var running = running ?? start(by: settings, besides: names, logger: logger)
    await running.discovery.reserve(names)
    let wanted = Set(settings.ports.map(\.text))
    for (text, source) in running.sources where !wanted.contains(text) {
      running.sources[text] = nil
      await running.discovery.remove(source)
    }
    for ports in settings.ports where running.sources[ports.text] == nil {
      let lists = ports.lists(besides: { [weak self] in self?.links.withLock(\.self) ?? [] }, logger: logger)
      running.sources[ports.text] = await running.discovery.watch(lists)
    }
    self.running = running
  }

  private func start(by settings: DiscoverySettings, besides names: Set<DeviceName>, logger: Logger) -> Running {
    let reader = ClaimReader(settings.transports, logger: logger)
    let discovery = Discovery(reserved: names) { [devices] link in
      await reader.claim(over: link) { link in
        try? await devices.eventLoop.submit { devices.openClient(over: [link]) }.get()
      }
    }
    let reading = Task { [devices] in
      for await found in discovery.devices {
        let linked = found.compactMap { device in
          (try? settings.transports.link(device.link)).map { (device, $0) }
        }
        try? await devices.eventLoop.submit { devices.discover(linked) }.get()
      }
    }
    return Running(discovery: discovery, reader: reading)
  }

  func stop() async {
    guard let running else { return }
    self.running = nil
    await running.discovery.stop()
    await running.reader.value
    try? await devices.eventLoop.submit { [devices] in devices.discover([]) }.get()
  }
}
