package import Byway
import Logging
import Synchronization

/// What a proxy looks for besides the devices that it is told.
package struct DiscoverySettings: Sendable {
  let ports: [WatchedPorts]
  let transports: TransportRegistry

  /// - Parameter transports: of the links that lead to what is found.
  package init(_ ports: [WatchedPorts], transports: TransportRegistry) {
    self.ports = ports
    self.transports = transports
  }

  fileprivate var texts: [String] { ports.map(\.text) }
}

/// Puts what is found into a proxy's table of devices.
///
/// One caller at a time: a start, a reload, a stop.
actor DeviceFinder {
  private let devices: DeviceTable
  /// By configuration; what they lead to is not found besides.
  private let links = Mutex<[LinkAddress]>([])
  private var running: (texts: [String], discovery: Discovery, reader: Task<Void, Never>)?

  init(_ devices: DeviceTable) {
    self.devices = devices
  }

  /// Goes over to what a configuration looks for; what it looks for already goes on.
  func look(as settings: DiscoverySettings?, besides directory: DeviceDirectory, logger: Logger) async {
    links.withLock { $0 = directory.links.map(\.address) }
    let frontPage = DeviceName(DeviceHosts.frontPage)
    let names = Set(directory.devices.map(\.name)).union([frontPage].compactMap(\.self))
    if let running, running.texts == settings?.texts {
      await running.discovery.reserve(names)
      return
    }
    await stop()
    guard let settings else { return }
    let reader = ClaimReader(settings.transports, logger: logger)
    let discovery = Discovery(reserved: names) { await reader.claim(over: $0) }
    for ports in settings.ports {
      let lists = ports.lists(besides: { [weak self] in self?.links.withLock(\.self) ?? [] }, logger: logger)
      await discovery.watch(lists)
    }
    let reading = Task { [devices] in
      for await found in discovery.devices {
        let linked = found.compactMap { device in
          (try? settings.transports.link(device.link)).map { (device, $0) }
        }
        try? await devices.eventLoop.submit { devices.discover(linked) }.get()
      }
    }
    running = (settings.texts, discovery, reading)
  }

  func stop() async {
    guard let running else { return }
    self.running = nil
    await running.discovery.stop()
    await running.reader.value
    try? await devices.eventLoop.submit { [devices] in devices.discover([]) }.get()
  }
}
